import { Button } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { CodeBlock } from '@/components/ui/CodeBlock'
import { Panel } from '@/components/ui/Panel'
import classes from './first.module.css'

/** The empty overview: three ways to the first pipeline. */
export function FirstPipeline() {
  return (
    <Panel title="No pipelines yet">
      <div className={classes.ways}>
        <div className={classes.way}>
          <h3>Write a definition</h3>
          <p>Start from a template, or import a configuration of Flume or Kafka Connect.</p>
          <Button component={Link} to="/pipelines/new">
            New pipeline
          </Button>
        </div>
        <div className={classes.way}>
          <h3>Apply a file</h3>
          <p>In a terminal, with a token in HEADGATE_TOKEN. The same command publishes later changes.</p>
          <CodeBlock code="headgate apply -f pipeline.yaml" label="Apply a definition" />
        </div>
        <div className={classes.way}>
          <h3>Run the demo</h3>
          <p>A broker, a rate-limited producer and a pipeline named demo, all on this machine.</p>
          <CodeBlock code="make demo" label="Start the demo" />
        </div>
      </div>
    </Panel>
  )
}
