import { Switch } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { settingsQuery } from '@/api/installation'
import type { Setting } from '@/api/types'
import { Empty, ErrorNote, Loading } from '@/components/ui/Feedback'
import { FilterInput } from '@/components/ui/FilterInput'
import { Panel } from '@/components/ui/Panel'
import { Table } from '@/components/ui/Table'
import classes from './installation.module.css'

/** Every setting of the web server by section: its variable, its value, and where that comes from. */
export function SettingsTab() {
  const { text, changed } = useSearch({ from: '/installation/settings' })
  const navigate = useNavigate({ from: '/installation/settings' })
  const { data, error, refetch } = useQuery(settingsQuery)
  const set = (search: { text?: string; changed?: true }) =>
    void navigate({ search: { text, changed, ...search }, replace: true })
  const shown = data?.filter((each) => matches(each, text, changed)) ?? []
  return (
    <>
      <p className="dim">
        Settings are environment variables. These are of the web server; workers read their own. Change one
        where its process is started, and restart the process.
      </p>
      <div className={classes.filters}>
        <FilterInput
          label="Setting"
          placeholder="Name, value or meaning"
          value={text ?? ''}
          onChange={(value) => set({ text: value || undefined })}
        />
        <Switch
          label="Set by the environment"
          checked={changed ?? false}
          onChange={(event) => set({ changed: event.currentTarget.checked || undefined })}
        />
      </div>
      {error && <ErrorNote error={error} onRetry={() => void refetch()} />}
      {!data && !error && <Loading rows={8} />}
      {data && shown.length === 0 && <Empty title="No settings match">Clear the filter to see all.</Empty>}
      {bySection(shown).map(([section, settings]) => (
        <Section key={section} title={section} settings={settings} />
      ))}
    </>
  )
}

function matches({ variable, value, description, source }: Setting, text = '', changed?: true): boolean {
  const words = `${variable} ${value ?? ''} ${description}`.toLowerCase()
  return words.includes(text.toLowerCase()) && (!changed || source === 'environment')
}

function bySection(settings: Setting[]): [string, Setting[]][] {
  const found = new Map<string, Setting[]>()
  for (const each of settings) found.set(each.section, [...(found.get(each.section) ?? []), each])
  return [...found]
}

function Section({ title, settings }: { title: string; settings: Setting[] }) {
  return (
    <Panel title={title} flush>
      <Table
        label={title}
        head={
          <>
            <th>Variable</th>
            <th>Value</th>
            <th>From</th>
            <th>Meaning</th>
          </>
        }
      >
        {settings.map((setting) => (
          <SettingRow key={setting.name} setting={setting} />
        ))}
      </Table>
    </Panel>
  )
}

function SettingRow({ setting }: { setting: Setting }) {
  return (
    <tr>
      <th scope="row" className="mono">
        {setting.variable}
      </th>
      <td className={classes.value}>
        {setting.value === null ? (
          <span className="dim">not set</span>
        ) : setting.secret ? (
          <span className="dim">set, not shown</span>
        ) : (
          <span className="mono">{setting.value}</span>
        )}
        {setting.source === 'environment' && setting.default !== null && !setting.secret && (
          <div className="dim">
            default: <span className="mono">{setting.default}</span>
          </div>
        )}
      </td>
      <td>{setting.source === 'environment' ? 'Environment' : 'Default'}</td>
      <td className={classes.words}>
        {setting.description.replaceAll('`', '')}{' '}
        {setting.docs && (
          <a href={`/docs/${setting.docs}`} target="_blank" rel="noreferrer">
            Documentation<span className="visually-hidden"> of {setting.variable} (opens in a new tab)</span>
          </a>
        )}
      </td>
    </tr>
  )
}
