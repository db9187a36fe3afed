/** The start of a new definition: one source, one channel, one sink, with the keys that have no default. */
export const TEMPLATE = `api_version: headgate/v1
name: orders
description: Orders from the shop, cleaned
labels: {team: payments}
sources:
  shop:
    type: kafka
    bootstrap_servers: localhost:9092
    topics: [orders]
    # The position mirror for lag tools. Two pipelines cannot share one.
    group_id: headgate.orders
    # Only for the very first start: earliest or latest.
    start_from: earliest
    interceptors:
      - {type: timestamp}
channels:
  main: {type: direct}
sinks:
  clean:
    type: kafka
    channel: main
    bootstrap_servers: localhost:9092
    topic: orders.clean
`
