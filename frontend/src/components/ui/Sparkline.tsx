/** A small line of the last values, drawn from zero. It only repeats the number beside it, so it is hidden from readers. */
export function Sparkline({
  values,
  width = 72,
  height = 18,
}: {
  values: number[]
  width?: number
  height?: number
}) {
  if (values.length < 2) return <svg width={width} height={height} aria-hidden="true" />
  const top = Math.max(...values, 1)
  const step = width / (values.length - 1)
  const line = values
    .map((value, index) => point(index * step, height - 1 - (value / top) * (height - 2)))
    .join(' ')
  return (
    <svg width={width} height={height} aria-hidden="true" style={{ display: 'block' }}>
      <polygon points={`0,${height} ${line} ${width},${height}`} fill="var(--hg-chart-1)" opacity={0.14} />
      <polyline
        points={line}
        fill="none"
        stroke="var(--hg-chart-1)"
        strokeWidth={1.25}
        strokeLinejoin="round"
      />
    </svg>
  )
}

function point(x: number, y: number): string {
  return `${x.toFixed(1)},${y.toFixed(1)}`
}
