import { api, take } from './client'

export const importFlume = (text: string, agent: string | null) =>
  take(api.POST('/api/v1/imports/flume', { body: { text, agent } }))

export const importConnect = (text: string, connector: string | null, bootstrap_servers: string | null) =>
  take(api.POST('/api/v1/imports/connect', { body: { text, connector, bootstrap_servers } }))
