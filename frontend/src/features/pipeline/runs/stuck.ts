/** `blocked`: where the thread is; `component`: the agent's call of the component, which says whose code that is. */
export type FrameMark = 'blocked' | 'component'

const FRAME = /^ {2}File .*, line \S+ in (\S+)$/

/** The frames of components at work, by line of a dump in which each thread has its latest call first. */
export function stuckFrames(text: string, stuck: string[]): Map<number, FrameMark> {
  const marks = new Map<number, FrameMark>()
  let top: number | null = null
  text.split('\n').forEach((line, index) => {
    const called = FRAME.exec(line)?.[1]
    if (!called) {
      top = null
      return
    }
    top ??= index
    if (!stuck.includes(called)) return
    if (!marks.has(index)) marks.set(index, 'component')
    marks.set(top, 'blocked')
  })
  return marks
}
