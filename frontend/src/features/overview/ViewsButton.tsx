import { ActionIcon, Button, Group, Modal, Stack, Text, TextInput } from '@mantine/core'
import { IconBookmark, IconTrash } from '@tabler/icons-react'
import { useLocation, useRouter } from '@tanstack/react-router'
import { useState } from 'react'
import { ReasonButton } from '@/components/ui/ReasonButton'
import { MOST_VIEWS, NAME_LENGTH, useViews } from './views'
import classes from './views.module.css'

/** Saved views: names for addresses with their filters and groups. */
export function ViewsButton() {
  const [open, setOpen] = useState(false)
  return (
    <>
      <Button
        variant="default"
        leftSection={<IconBookmark size={14} aria-hidden />}
        onClick={() => setOpen(true)}
      >
        Views
      </Button>
      {open && <ViewsDialog onClose={() => setOpen(false)} />}
    </>
  )
}

function ViewsDialog({ onClose }: { onClose: () => void }) {
  const { views, save, remove } = useViews()
  const router = useRouter()
  const go = (to: string) => {
    router.history.push(to)
    onClose()
  }
  return (
    <Modal opened onClose={onClose} title="Saved views">
      <Stack gap="md">
        {views.length === 0 ? (
          <Text size="sm">
            A view is a name for the filters, the group and the order that you see now. Views stay in this
            browser.
          </Text>
        ) : (
          <ul className={classes.list} aria-label="Saved views">
            {views.map(({ name, to }) => (
              <li key={name} className={classes.view}>
                <button type="button" className={classes.open} onClick={() => go(to)}>
                  {name}
                </button>
                <ActionIcon
                  variant="subtle"
                  color="gray"
                  aria-label={`Delete view ${name}`}
                  onClick={() => remove(name)}
                >
                  <IconTrash size={16} aria-hidden />
                </ActionIcon>
              </li>
            ))}
          </ul>
        )}
        <SaveView full={views.length >= MOST_VIEWS} onSave={save} />
      </Stack>
    </Modal>
  )
}

function SaveView({ full, onSave }: { full: boolean; onSave: (view: { name: string; to: string }) => void }) {
  const { href } = useLocation()
  const [name, setName] = useState('')
  const reason = full
    ? `There are ${MOST_VIEWS} views. Delete one first.`
    : name.trim() === ''
      ? 'Type a name first.'
      : null
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        if (reason !== null) return
        onSave({ name: name.trim(), to: href })
        setName('')
      }}
    >
      <Group gap="xs" align="flex-end">
        <TextInput
          className={classes.name}
          label="Name of this view"
          maxLength={NAME_LENGTH}
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
        />
        <ReasonButton type="submit" reason={reason}>
          Save view
        </ReasonButton>
      </Group>
    </form>
  )
}
