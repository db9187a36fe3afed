import { Button, Group } from '@mantine/core'
import { useState } from 'react'
import { keys } from '@/api/keys'
import { ALL_TEAMS, deleteTeam } from '@/api/teams'
import type { Team } from '@/api/types'
import { RemovalDialog } from '@/components/actions/RemovalDialog'
import { ReasonButton } from '@/components/ui/ReasonButton'
import { Table } from '@/components/ui/Table'
import { deleteTeamCall } from '@/domain/calls'
import { DEFAULT_TEAM } from '@/domain/owners'
import { cannotAdministerAll, ROLE_WORDS } from '@/domain/roles'
import { count, plural } from '@/lib/format'
import { useBarred } from '@/lib/session'
import { RolesDialog } from './RolesDialog'

/** `everywhere`: the user is an administrator of all teams. */
export function TeamTable({ teams, everywhere }: { teams: Team[]; everywhere: boolean }) {
  const barred = useBarred(cannotAdministerAll)
  const [shown, setShown] = useState<string | null>(null)
  const [asked, setAsked] = useState<string | null>(null)
  return (
    <>
      <Table
        label="Teams"
        head={
          <>
            <th>Team</th>
            <th>Your role</th>
            <th className="num">Pipelines</th>
            <th>Description</th>
            <th>
              <span className="visually-hidden">Actions</span>
            </th>
          </>
        }
      >
        {everywhere && (
          <tr>
            <th scope="row">All teams</th>
            <td>{ROLE_WORDS.admin}</td>
            <td className="num">{count(teams.reduce((sum, team) => sum + team.pipelines, 0))}</td>
            <td className="dim">A role in all teams counts in each of them.</td>
            <td>
              <RolesButton team={ALL_TEAMS} onShow={setShown} />
            </td>
          </tr>
        )}
        {teams.map((team) => (
          <tr key={team.name}>
            <th scope="row">{team.name}</th>
            <td>{team.role ? ROLE_WORDS[team.role] : '-'}</td>
            <td className="num">{count(team.pipelines)}</td>
            <td>{team.description || '-'}</td>
            <td>
              <Group gap="xs" wrap="nowrap">
                {team.role === 'admin' && <RolesButton team={team.name} onShow={setShown} />}
                {everywhere && (
                  <ReasonButton
                    variant="default"
                    size="compact-xs"
                    reason={barred ?? cannotDelete(team)}
                    aria-label={`Delete ${team.name}`}
                    onClick={() => setAsked(team.name)}
                  >
                    Delete
                  </ReasonButton>
                )}
              </Group>
            </td>
          </tr>
        ))}
      </Table>
      {shown !== null && <RolesDialog team={shown} onClose={() => setShown(null)} />}
      {asked !== null && (
        <RemovalDialog
          title={`Delete ${asked}?`}
          words={`The team leaves every list, and each role in ${asked} ends. Nothing that runs is touched.`}
          button="Delete team"
          call={deleteTeamCall(asked)}
          remove={() => deleteTeam(asked)}
          queryKey={keys.teams}
          done={`${asked} is deleted.`}
          onClose={() => setAsked(null)}
        />
      )}
    </>
  )
}

function cannotDelete({ name, pipelines }: Team): string | null {
  if (name === DEFAULT_TEAM) return 'The default team cannot be deleted.'
  return pipelines > 0 ? `It owns ${plural(pipelines, 'pipeline')}.` : null
}

function RolesButton({ team, onShow }: { team: string; onShow: (team: string) => void }) {
  return (
    <Button
      variant="default"
      size="compact-xs"
      aria-label={`Show roles in ${team}`}
      onClick={() => onShow(team)}
    >
      Show roles
    </Button>
  )
}
