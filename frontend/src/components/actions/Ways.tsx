import { Radio, Stack } from '@mantine/core'

/** One way of doing what was requested, in words and as the API has it. */
export interface Way<Body> {
  label: string
  description: string
  body: Body
}

/** The first one is chosen until another is. */
export type WayList<W> = readonly [W, ...W[]]

interface WaysProps<W> {
  ways: WayList<W>
  chosen: W
  onChoose: (way: W) => void
}

/** The ways of doing something, of which one is chosen. */
export function Ways<W extends Way<unknown>>({ ways, chosen, onChoose }: WaysProps<W>) {
  const choose = (label: string) => onChoose(ways.find((way) => way.label === label) ?? chosen)
  return (
    <Radio.Group value={chosen.label} onChange={choose} label="Method">
      <Stack gap={10} mt={6}>
        {ways.map(({ label, description }) => (
          <Radio key={label} value={label} label={label} description={description} />
        ))}
      </Stack>
    </Radio.Group>
  )
}
