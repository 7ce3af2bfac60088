import { TrashIcon } from '@primer/octicons-react'
import { Link } from '@tanstack/react-router'
import { type Authentication, nameOf } from '../../api/tokens.ts'
import { AccessWords } from '../../parts/access-words.tsx'
import { IconButton } from '../../parts/button.tsx'
import { Safe } from '../../parts/feedback/safe.tsx'
import { Checkbox } from '../../parts/fields/field.tsx'
import { LastUsed } from '../../parts/last-used.tsx'
import type { Column } from '../../parts/lists/table.tsx'
import { Time } from '../../parts/time.tsx'
import { tokens as words } from '../../words/tokens.ts'
import { StatusBadge } from './facts.tsx'
import { Made } from './maker.tsx'

/** Selected rows and the actions on them. */
export type Selecting = {
  readonly chosen: ReadonlySet<string>
  readonly choose: (ids: readonly string[], on: boolean) => void
  readonly remove: (records: readonly Authentication[]) => void
  readonly whyKept: (records: readonly Authentication[]) => string | undefined
}

/** Checkboxes that select tokens. */
const selectColumn = (rows: readonly Authentication[], { chosen, choose }: Selecting): Column<Authentication> => {
  const all = rows.filter(({ status }) => status !== 'DELETED').map(({ id }) => id)
  return {
    key: 'select',
    label: '',
    head: (
      <Checkbox
        label={words.selectAll}
        hiddenLabel
        checked={all.length > 0 && all.every((id) => chosen.has(id))}
        some={all.some((id) => chosen.has(id))}
        onChange={(on) => choose(all, on)}
      />
    ),
    cell: (row) =>
      row.status === 'DELETED' ? null : (
        <Checkbox
          label={words.select(nameOf(row))}
          hiddenLabel
          checked={chosen.has(row.id)}
          onChange={(on) => choose([row.id], on)}
        />
      ),
  }
}

/** Buttons that delete a token. */
const actionsColumn = ({ remove, whyKept }: Selecting): Column<Authentication> => ({
  key: 'actions',
  head: <span className="visually-hidden">{words.columns.actions}</span>,
  label: '',
  cell: (row) =>
    row.status === 'DELETED' ? null : (
      <IconButton
        name={words.deleteOne(nameOf(row))}
        icon={<TrashIcon />}
        why={whyKept([row])}
        onClick={() => remove([row])}
      />
    ),
})

/** Columns of the token list; `sort` marks those that the service sorts by. */
export const columnsOf = (rows: readonly Authentication[], zone: string, selecting: Selecting) => {
  const columns: Column<Authentication>[] = [
    selectColumn(rows, selecting),
    {
      key: 'token',
      head: words.columns.token,
      sort: 'name',
      cell: (row) => (
        <>
          <Link to="/settings/tokens/$id" params={{ id: row.id }}>
            <Safe text={nameOf(row)} />
          </Link>
          {row.ending !== undefined && <code className="key">{words.ending(row.ending)}</code>}
        </>
      ),
    },
    {
      key: 'status',
      head: words.columns.status,
      cell: (row) => (
        <span>
          <StatusBadge record={row} />
        </span>
      ),
    },
    {
      key: 'access',
      head: words.columns.access,
      cell: (row) => (
        <span>
          <AccessWords record={row} />
        </span>
      ),
    },
    {
      key: 'created',
      head: words.columns.created(zone),
      label: words.columns.createdLabel,
      sort: 'createdAt',
      cell: (row) => <Made record={row} />,
    },
    { key: 'used', head: words.columns.used, cell: (row) => <LastUsed record={row} /> },
    {
      key: 'expires',
      head: words.columns.expires,
      sort: 'expiresAt',
      cell: (row) => <Time instant={row.expiresAt} />,
    },
    actionsColumn(selecting),
  ]
  return columns
}
