import { screen } from '@testing-library/react'
import type { Condition } from '@/api/types'
import { pipeline, status, T0 } from '@/testing/factories'
import { showRouted } from '@/testing/render'
import { Headline } from './Headline'
import { OutputNote } from './OutputNote'

const WORDS = 'Nothing was delivered in 5 min while 300,000 records of source orders were read.'

function shown(state: Condition['status']) {
  const output: Condition = {
    type: 'Output',
    status: state,
    reason: 'nothing_delivered',
    message: WORDS,
    last_transition_time: T0,
  }
  const known = status({ conditions: [output] })
  showRouted(
    <>
      <Headline pipeline={pipeline()} status={known} />
      <OutputNote name="orders" status={known} />
    </>,
  )
  return screen.findByRole('list', { name: 'Conditions' })
}

describe('The condition Output', () => {
  it('is amber where it is unusual, says why, and links to what helps', async () => {
    expect(await shown('False')).toHaveTextContent('Output unusual')
    expect(screen.getByTitle(WORDS)).toHaveAttribute('data-tone', 'warn')
    expect(screen.getByRole('alert')).toHaveTextContent(WORDS)
    expect(screen.getByRole('link', { name: 'the revision before' })).toHaveAttribute(
      'href',
      '/pipelines/orders/revisions',
    )
    expect(screen.getByRole('link', { name: 'ledger' })).toHaveAttribute('href', '/pipelines/orders/ledger')
  })

  it.each([
    ['True', 'Output as usual'],
    ['Unknown', 'Output not checked'],
  ] as const)('is a word where it is %s', async (state, words) => {
    expect(await shown(state)).toHaveTextContent(words)
    expect(screen.queryByRole('alert')).toBeNull()
  })
})
