import type { AllowedNetworkRequest, AllowedRootRequest, ClusterRequest, ReadOnlyRequest } from '@/api/types'
import { command, type Call } from './calls'
import { curl, shellQuote, shellWord } from './curl'

const ofTeam = (team: string | null | undefined) => (team ? ` --team ${shellWord(team)}` : '')
const because = (note: string | undefined) => (note ? ` --note ${shellQuote(note)}` : '')

/** The command line reads the cluster, its name and its team from a file. */
export const putClusterCall = (name: string, body: ClusterRequest): Call => ({
  curl: curl('PUT', '/api/v1/clusters/{name}', { path: { name }, body }),
  cli: command('clusters apply -f cluster.yaml'),
})

export const deleteClusterCall = (name: string): Call => ({
  curl: curl('DELETE', '/api/v1/clusters/{name}', { path: { name } }),
  cli: command(`clusters delete ${shellWord(name)}`),
})

export const testClusterCall = (name: string): Call => ({
  curl: curl('POST', '/api/v1/clusters/{name}/test', { path: { name }, body: {} }),
  cli: command(`clusters test ${shellWord(name)}`),
})

export const allowRootCall = (body: AllowedRootRequest): Call => ({
  curl: curl('POST', '/api/v1/allowed-roots', { body }),
  cli: command(
    `allowed-roots add ${shellQuote(body.path)} --mode ${body.mode}${ofTeam(body.team)}${because(body.note)}`,
  ),
})

export const allowNetworkCall = (body: AllowedNetworkRequest): Call => ({
  curl: curl('POST', '/api/v1/allowed-networks', { body }),
  cli: command(
    `allowed-networks add ${shellQuote(body.target)} --ports ${shellQuote(body.ports ?? '*')}${ofTeam(body.team)}${because(body.note)}`,
  ),
})

export const removeRuleCall = (list: 'allowed-roots' | 'allowed-networks', id: number): Call => ({
  curl: curl('DELETE', `/api/v1/${list}/{rule_id}`, { path: { rule_id: id } }),
  cli: command(`${list} remove ${id}`),
})

export const setReadOnlyCall = (body: ReadOnlyRequest): Call => ({
  curl: curl('PUT', '/api/v1/installation/read-only', { body, headers: { 'If-Match': '*' } }),
  cli: command(`read-only ${body.read_only ? 'on' : 'off'} --reason ${shellQuote(body.reason)}`),
})
