import { PlusIcon, TrashIcon } from '@primer/octicons-react'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { useState } from 'react'
import { keys } from '../../api/keys.ts'
import { readMethods } from '../../api/methods.ts'
import { type Authentication, nameOf, readTokens } from '../../api/tokens.ts'
import { Button, IconButton } from '../../parts/button.tsx'
import { Checkbox, Select } from '../../parts/field.tsx'
import { List } from '../../parts/list.tsx'
import { zoneName } from '../../parts/moment.ts'
import { useListAddress } from '../../parts/paging.ts'
import { Safe } from '../../parts/safe.tsx'
import type { Column } from '../../parts/table.tsx'
import { Time } from '../../parts/time.tsx'
import { usePreferences } from '../../preferences.ts'
import { useWhyNot } from '../../why-not.ts'
import { tokens as words } from '../../words/tokens.ts'
import { AccessWords, StatusBadge } from './facts.tsx'
import { NewToken } from './new-token.tsx'
import { RemoveTokens } from './remove.tsx'

const here = getRouteApi('/inside/settings/tokens')
const options = Object.entries(words.statuses).map(([value, label]) => ({ value, label }))

type Selecting = {
  readonly chosen: ReadonlySet<string>
  readonly choose: (ids: readonly string[], on: boolean) => void
  readonly remove: (records: readonly Authentication[]) => void
  readonly why: string | undefined
}

const columnsOf = (rows: readonly Authentication[], zone: string, { chosen, choose, remove, why }: Selecting) => {
  const all = rows.filter(({ status }) => status !== 'DELETED').map(({ id }) => id)
  const columns: Column<Authentication>[] = [
    {
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
    },
    { key: 'token', head: words.columns.token, cell: (row) => <Safe text={nameOf(row)} /> },
    { key: 'status', head: words.columns.status, cell: (row) => <StatusBadge record={row} /> },
    { key: 'access', head: words.columns.access, cell: (row) => <AccessWords record={row} /> },
    {
      key: 'created',
      head: words.columns.created(zone),
      label: words.columns.createdLabel,
      cell: (row) => <Time instant={row.createdAt} />,
    },
    { key: 'expires', head: words.columns.expires, cell: (row) => <Time instant={row.expiresAt} /> },
    {
      key: 'actions',
      head: <span className="visually-hidden">{words.columns.actions}</span>,
      label: '',
      cell: (row) =>
        row.status === 'DELETED' ? null : (
          <IconButton
            name={words.deleteOne(nameOf(row))}
            icon={<TrashIcon />}
            why={why}
            onClick={() => remove([row])}
          />
        ),
    },
  ]
  return columns
}

/** Settings › Static Tokens: made, found and ended (ui.md §11.12). */
export const Tokens = () => {
  const search = here.useSearch()
  const { q = '', status = '', ns = '', page, at } = search
  const address = useListAddress(search)
  const { zone } = usePreferences()
  const why = useWhyNot(at)
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set())
  const [creating, setCreating] = useState(false)
  const [removing, setRemoving] = useState<readonly Authentication[]>([])
  const methods = useQuery({ queryKey: keys.methods, queryFn: ({ signal }) => readMethods(signal) })
  const filter = { kind: 'static', q, status, namespaceKey: ns, page, at } as const
  const { data, ...read } = useQuery({
    queryKey: [...keys.tokens, filter],
    queryFn: ({ signal }) => readTokens(filter, signal),
    placeholderData: (before) => before,
  })
  const rows = data?.authentications ?? []
  const off = methods.data?.staticTokens === false
  const selecting: Selecting = {
    chosen,
    choose: (ids, on) => setChosen((before) => (on ? before.union(new Set(ids)) : before.difference(new Set(ids)))),
    remove: setRemoving,
    why,
  }
  const selected = rows.filter(({ id }) => chosen.has(id))
  return (
    <>
      <List
        words={words}
        read={{ ...read, page: data, rows }}
        address={address}
        q={q}
        filtered={status !== '' || ns !== ''}
        cleared={{ status: '', ns: '' }}
        filters={
          <Select
            label={words.status}
            hiddenLabel
            value={status}
            options={options}
            onChange={(value) => address.filter({ status: value })}
          />
        }
        create={
          !off && (
            <Button look="primary" why={why} onClick={() => setCreating(true)} aria-keyshortcuts="n">
              <PlusIcon />
              {words.create}
            </Button>
          )
        }
        nothing={<p>{words.noneWhy}</p>}
        table={{
          columns: columnsOf(rows, zoneName(zone), selecting),
          rowKey: ({ id }) => id,
          heads: 'token',
          chosen: ({ id }) => chosen.has(id),
        }}
      >
        {off && <p className="muted">{words.off}</p>}
        {selected.length > 0 && (
          <div className="selection bar" role="region" aria-label={words.selection}>
            <span>{words.selected(selected.length)}</span>
            <Button look="plain" onClick={() => setChosen(new Set())}>
              {words.clearSelection}
            </Button>
            <Button look="danger" why={why} onClick={() => setRemoving(selected)}>
              {words.deleteMany(selected.length)}
            </Button>
          </div>
        )}
      </List>
      {creating && <NewToken onClose={() => setCreating(false)} />}
      {removing.length > 0 && (
        <RemoveTokens
          records={removing}
          onClose={(done) => {
            setRemoving([])
            if (done) setChosen(new Set())
          }}
        />
      )}
    </>
  )
}
