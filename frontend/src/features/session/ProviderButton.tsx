import { Button, Divider } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { signIn } from '@/api/session'
import { ErrorNote } from '@/components/ui/Feedback'
import { leave } from '@/lib/session'

/** The way to the provider; it leads back to the address that is open. */
export function ProviderButton({ label }: { label: string }) {
  const begin = useMutation({
    mutationFn: () => signIn(window.location.pathname + window.location.search),
    onSuccess: leave,
  })
  return (
    <>
      <Divider label="or" labelPosition="center" />
      {begin.error && <ErrorNote error={begin.error} />}
      <Button variant="default" size="sm" loading={begin.isPending} onClick={() => begin.mutate()}>
        {label}
      </Button>
    </>
  )
}
