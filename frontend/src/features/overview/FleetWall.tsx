import { useLayoutEffect, useMemo, useRef, useState } from 'react'
import type { Pipeline } from '@/api/types'
import { useFavourites } from './favourites'
import { FleetTile } from './FleetTile'
import { GroupCounts } from './GroupCounts'
import { groupPipelines, titleOf } from './grouping'
import type { History } from './strip'
import { useWindowed } from './useWindowed'
import classes from './fleet.module.css'

const TILE_WIDTH = 280
const GAP = 10
const LINE_HEIGHT = 150
const TITLE_HEIGHT = 40
const OVERSCAN = 4

/** Tiles side by side, or the heading of a group, which has a title. */
interface Line {
  title?: string
  pipelines: Pipeline[]
}

interface FleetWallProps {
  /** In the order in which they are shown. */
  pipelines: Pipeline[]
  histories: ReadonlyMap<string, History>
  group: string | undefined
}

/** Every pipeline as a tile; only the lines of tiles near the window exist in the document. */
export function FleetWall({ pipelines, histories, group }: FleetWallProps) {
  const { favourites, toggle } = useFavourites()
  const wall = useRef<HTMLDivElement>(null)
  const columns = useColumns(wall)
  const lines = useMemo(() => linesOf(pipelines, group, columns), [pipelines, group, columns])
  const { virtual, offset } = useWindowed(wall, {
    count: lines.length,
    estimateSize: (index) => (lines[index]?.title === undefined ? LINE_HEIGHT : TITLE_HEIGHT),
    overscan: OVERSCAN,
  })
  return (
    <div ref={wall} className={classes.wall} style={{ height: virtual.getTotalSize() }}>
      {virtual.getVirtualItems().map(({ index, start }) => {
        const line = lines[index]
        if (!line) return null
        return (
          <div
            key={index}
            ref={virtual.measureElement}
            data-index={index}
            className={classes.line}
            style={{ transform: `translateY(${start - offset}px)` }}
          >
            {line.title === undefined ? (
              <ul
                className={classes.tiles}
                style={{ gridTemplateColumns: `repeat(${columns}, minmax(0, 1fr))` }}
              >
                {line.pipelines.map((pipeline) => (
                  <li key={pipeline.name}>
                    <FleetTile
                      pipeline={pipeline}
                      history={histories.get(pipeline.name)}
                      favourite={favourites.has(pipeline.name)}
                      onStar={toggle}
                    />
                  </li>
                ))}
              </ul>
            ) : (
              <div className={classes.group}>
                <h2 className={classes.groupTitle}>{line.title}</h2>
                <GroupCounts pipelines={line.pipelines} />
              </div>
            )}
          </div>
        )
      })}
    </div>
  )
}

function linesOf(pipelines: Pipeline[], group: string | undefined, columns: number): Line[] {
  if (group === undefined) return tilesOf(pipelines, columns)
  return groupPipelines(pipelines, group).flatMap(({ name, pipelines: members }) => [
    { title: titleOf(name, group), pipelines: members },
    ...tilesOf(members, columns),
  ])
}

function tilesOf(pipelines: Pipeline[], columns: number): Line[] {
  return Array.from({ length: Math.ceil(pipelines.length / columns) }, (_, line) => ({
    pipelines: pipelines.slice(line * columns, (line + 1) * columns),
  }))
}

/** How many tiles stand side by side: as many as the window holds until the wall is laid out. */
function useColumns(ref: { current: HTMLElement | null }): number {
  const [columns, setColumns] = useState(() => columnsOf(window.innerWidth))
  useLayoutEffect(() => {
    if (!ref.current) return
    const observer = new ResizeObserver(([wall]) => wall && setColumns(columnsOf(wall.contentRect.width)))
    observer.observe(ref.current)
    return () => observer.disconnect()
  }, [ref])
  return columns
}

function columnsOf(width: number): number {
  return Math.max(1, Math.floor((width + GAP) / (TILE_WIDTH + GAP)))
}
