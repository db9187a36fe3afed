import { locate } from './locate'
import { parsePath, writePath } from './paths'

const TEXT = `# The orders of the shop.
name: orders
sources:
  # The shop.
  shop:
    type: kafka
    "topics": [orders, 'more orders', {x: y}]
    start_from: &start earliest
    group_id:
    options:
      "security.protocl": SSL   # wrong
      plain: yes
    interceptors:
      - type: regex_filter
        regex: "(a"
      - {type: static, key: a, 'valu': b}
      -   type: sql
          where: >-
            body = 1
            AND x
  other: {type: kafka, start_from: *start, options: &common {client.id: a}}
channels:
- not a mapping
sinks:
  out:
    options: *common
`

describe('the place of a finding', () => {
  it.each([
    ['name', 'invalid_name', 'orders', 2],
    ['sources.shop', 'source_without_channel', 'shop', 5],
    ['sources.shop.bootstrap_servers', 'missing_key', 'shop', 5],
    ['sources.shop.topics', 'both_topics', "[orders, 'more orders', {x: y}]", 7],
    ['sources.shop.topics[1]', 'invalid_topic', "'more orders'", 7],
    ['sources.shop.topics[2].x', 'wrong_type', 'y', 7],
    ['sources.shop.topics[9]', 'empty', '"topics"', 7],
    ['sources.shop.start_from', 'bad_start_from', 'earliest', 8],
    ['sources.shop.group_id', 'wrong_type', 'group_id', 9],
    ['sources.shop.options["security.protocl"]', 'forbidden_option', '"security.protocl"', 11],
    ['sources.shop.options["security.protocl"]', 'unknown_value', 'SSL', 11],
    ['sources.shop.interceptors', 'too_long', 'interceptors', 13],
    ['sources.shop.interceptors[0]', 'nothing_to_do', 'type: regex_filter', 14],
    ['sources.shop.interceptors[0].regex', 'regex_syntax', '"(a"', 15],
    ['sources.shop.interceptors[1]', 'missing_key', "{type: static, key: a, 'valu': b}", 16],
    ['sources.shop.interceptors[1].value', 'missing_key', "{type: static, key: a, 'valu': b}", 16],
    ['sources.shop.interceptors[1].valu', 'unknown_key', "'valu'", 16],
    ['sources.shop.interceptors[1].key', 'invalid_header', 'a', 16],
    ['sources.shop.interceptors[2].drop', 'missing_key', 'type: sql', 17],
    ['sources.shop.interceptors[2].where', 'sql', '>-\n            body = 1\n            AND x', 18],
    ['sources.other.group_id', 'missing_key', 'other', 21],
    ['sources.other.start_from', 'bad_start_from', '*start', 21],
    ['channels', 'wrong_type', 'channels', 22],
    ['channels[0]', 'wrong_type', 'not a mapping', 23],
    ['sinks.out.options["client.id"]', 'forbidden_option', 'options', 26],
    ['sinks.out.options', 'wrong_type', '*common', 26],
    ['api_version', 'missing_key', '# The orders of the shop.', 1],
    ['', 'more_findings', '# The orders of the shop.', 1],
  ])('%s (%s) is %j', (path, code, marked, line) => {
    const { from, to } = locate(TEXT, { path, code, line: null, column: null })
    expect(TEXT.slice(from, to)).toBe(marked)
    expect(TEXT.slice(0, from).split('\n')).toHaveLength(line)
  })

  it('is the line and column of the server in a text that cannot be read', () => {
    const text = 'name: [a\nsources: b\n'
    const { from, to } = locate(text, { path: '', code: 'syntax', line: 2, column: 8 })
    expect(text.slice(from, to)).toBe(': b')
    expect(locate('', { path: '', code: 'syntax', line: 9, column: 9 })).toEqual({ from: 0, to: 0 })
  })

  it('is that line, too, where the path was shortened', () => {
    const { from } = locate(TEXT, { path: 'labels["aaaa…]', code: 'x', line: 2, column: 1 })
    expect(TEXT.slice(from)).toMatch(/^name/)
  })
})

describe('a path', () => {
  it.each([
    ['', []],
    ['name', ['name']],
    ['sources.shop.interceptors[1].regex', ['sources', 'shop', 'interceptors', 1, 'regex']],
    ['options["security.protocol"]', ['options', 'security.protocol']],
    ['a["x\\"]y"][0]', ['a', 'x"]y', 0]],
  ])('%s is read and written', (written, path) => {
    expect(parsePath(written)).toEqual(path)
    expect(writePath(path)).toBe(written)
  })
})
