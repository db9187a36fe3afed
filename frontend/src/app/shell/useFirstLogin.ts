import { useLocation, useNavigate } from '@tanstack/react-router'
import { useEffect } from 'react'
import { guideWasShown } from '@/lib/guide'
import { useSession } from '@/lib/session'

/** In a demo, leads who comes to the overview for the first time to the guided demo. */
export function useFirstLogin(): void {
  const { session } = useSession()
  const { pathname } = useLocation()
  const navigate = useNavigate()
  const leads = pathname === '/' && Boolean(session?.demo_pipeline) && !guideWasShown()
  useEffect(() => {
    if (leads) void navigate({ to: '/guide', replace: true })
  }, [leads, navigate])
}
