/** The difference of two texts, line by line, for one column. */

export interface Line {
  op: 'same' | 'added' | 'removed'
  text: string
  /** Numbers from 1 in the text before and in the one after. */
  before: number | null
  after: number | null
}

/** Above so many pairs of lines the middle is shown as replaced: the page stays quick. */
const MOST_PAIRS = 4_000_000

export function lineDiff(before: string, after: string): Line[] {
  const [a, b] = [split(before), split(after)]
  let head = 0
  while (head < a.length && head < b.length && a[head] === b[head]) head++
  let tail = 0
  while (tail < Math.min(a.length, b.length) - head && a.at(-1 - tail) === b.at(-1 - tail)) tail++
  const [middleA, middleB] = [a.slice(head, a.length - tail), b.slice(head, b.length - tail)]
  const kept = middleA.length * middleB.length > MOST_PAIRS ? [] : common(middleA, middleB)
  const lines = new Lines()
  a.slice(0, head).forEach(lines.same)
  let [i, j] = [0, 0]
  for (const [x, y] of [...kept, [middleA.length, middleB.length] as const]) {
    middleA.slice(i, x).forEach(lines.removed)
    middleB.slice(j, y).forEach(lines.added)
    if (x < middleA.length) lines.same(middleA[x] ?? '')
    ;[i, j] = [x + 1, y + 1]
  }
  a.slice(a.length - tail).forEach(lines.same)
  return lines.all
}

/** The parts of a difference around its changes, with `context` same lines on either side. */
export function hunks(lines: Line[], context = 3): Line[][] {
  const near = new Set(
    lines.flatMap(({ op }, index) =>
      op === 'same' ? [] : Array.from({ length: 2 * context + 1 }, (_, at) => index - context + at),
    ),
  )
  const found: Line[][] = []
  lines.forEach((line, index) => {
    if (!near.has(index)) return
    if (near.has(index - 1) && index > 0) found.at(-1)?.push(line)
    else found.push([line])
  })
  return found
}

class Lines {
  all: Line[] = []
  private before = 0
  private after = 0
  same = (text: string) => this.all.push({ op: 'same', text, before: ++this.before, after: ++this.after })
  removed = (text: string) => this.all.push({ op: 'removed', text, before: ++this.before, after: null })
  added = (text: string) => this.all.push({ op: 'added', text, before: null, after: ++this.after })
}

const split = (text: string) => (text === '' ? [] : text.replace(/\n$/, '').split('\n'))

/** Pairs of indices of a longest common subsequence. */
function common(a: string[], b: string[]): (readonly [number, number])[] {
  const width = b.length + 1
  const lengths = new Uint32Array((a.length + 1) * width)
  const at = (i: number, j: number) => lengths[i * width + j] ?? 0
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--)
      lengths[i * width + j] = a[i] === b[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1))
  const pairs: (readonly [number, number])[] = []
  for (let i = 0, j = 0; i < a.length && j < b.length;)
    if (a[i] === b[j]) pairs.push([i++, j++])
    else if (at(i + 1, j) >= at(i, j + 1)) i++
    else j++
  return pairs
}
