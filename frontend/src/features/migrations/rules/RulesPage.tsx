import { Link } from '@tanstack/react-router'
import { PageHeader } from '@/components/ui/PageHeader'
import { cannotAdminister } from '@/domain/roles'
import { useBarred } from '@/lib/session'
import { FreezesPanel } from './FreezesPanel'
import { PoliciesPanel } from './PoliciesPanel'
import classes from '../migrations.module.css'

/** When no migration starts, and who has to approve one. */
export function RulesPage() {
  const refused = useBarred(cannotAdminister)
  return (
    <div className={classes.page}>
      <PageHeader
        title="Freezes and approvals"
        before={
          <nav aria-label="Breadcrumb" className={classes.crumbs}>
            <Link to="/migrations">Migrations</Link>
          </nav>
        }
        beside={<span className="dim">when migrations can start</span>}
      />
      <FreezesPanel refused={refused} />
      <PoliciesPanel refused={refused} />
    </div>
  )
}
