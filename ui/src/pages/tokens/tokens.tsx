import { PlusIcon, SearchIcon } from '@primer/octicons-react'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { useState } from 'react'
import { EVERY, placesOf, removalOf, useAccess } from '../../api/access.ts'
import { keys } from '../../api/keys.ts'
import { readMethods } from '../../api/methods.ts'
import { type Authentication, readTokens } from '../../api/tokens.ts'
import { Button } from '../../parts/button.tsx'
import { List } from '../../parts/lists/list.tsx'
import { orderOf, sortOf, useListAddress } from '../../parts/lists/paging.ts'
import { useListRead } from '../../parts/lists/use-list-read.ts'
import { zoneName } from '../../parts/moment.ts'
import { RemoveRecords } from '../../parts/remove-records.tsx'
import { usePreferences } from '../../preferences.ts'
import { useMissing, useWhyNot } from '../../why-not.ts'
import { tokens as words } from '../../words/tokens.ts'
import { columnsOf, type Selecting } from './columns.tsx'
import { accesses, chosenOf, Filters, statuses } from './filters.tsx'
import { FindToken } from './find-token.tsx'
import { MakerFilter } from './maker.tsx'
import { NewToken } from './new-token.tsx'

/** Actions on the selected tokens. */
const Selection = ({
  count,
  why,
  onClear,
  onDelete,
}: {
  readonly count: number
  readonly why: string | undefined
  readonly onClear: () => void
  readonly onDelete: () => void
}) => (
  <div className="selection bar" role="region" aria-label={words.selection}>
    <span>{words.selected(count)}</span>
    <Button look="plain" onClick={onClear}>
      {words.clearSelection}
    </Button>
    <Button look="danger" why={why} onClick={onDelete}>
      {words.deleteMany(count)}
    </Button>
  </div>
)

const here = getRouteApi('/inside/settings/tokens')
const SORTS = ['-createdAt', 'name', 'expiresAt'] as const

/** Namespaces to which the user's right to read tokens is limited, if it is, and the selected one. */
const usePlaces = (asked = '') => {
  const { access, settled } = useAccess()
  const found = access ? placesOf(access, 'token.read') : []
  const places = found.length > 0 && found[0] !== EVERY ? found : undefined
  return {
    settled,
    places,
    ns: !places || places.includes(asked) ? asked : places[0]!,
  }
}

/** The filters of the address, and the page of tokens that they find. */
const useTokens = () => {
  const search = here.useSearch()
  const { q = '', page, at, maker = '' } = search
  const { settled, places, ns } = usePlaces(search.ns)
  const status = chosenOf(statuses, search.status)
  const access = chosenOf(accesses, search.access)
  const order = orderOf(search.sort, SORTS)
  const direction = order.descending ? 'desc' : 'asc'
  const filter = {
    kind: 'static',
    q,
    status,
    namespaceKey: ns,
    access,
    issuedBy: maker,
    sort: order.by,
    order: direction,
    page,
    at,
  } as const
  const read = useListRead(keys.tokens, filter, readTokens, settled)
  const address = useListAddress(search)
  return { q, at, ns, places, status, access, maker, order, address, read, rows: read.page?.authentications ?? [] }
}

/** Buttons that open the search for a token and the form of a new one. `off`: static tokens cannot be created. */
const Openers = ({ off, why }: { readonly off: boolean; readonly why: string | undefined }) => {
  const missing = useMissing()
  const [open, setOpen] = useState<'find' | 'create'>()
  const close = () => setOpen(undefined)
  return (
    <>
      <Button why={missing({ right: 'audit.read', namespaceKey: EVERY })} onClick={() => setOpen('find')}>
        <SearchIcon />
        {words.find.open}
      </Button>
      {!off && (
        <Button
          look="primary"
          why={why ?? missing({ right: 'token.create' })}
          onClick={() => setOpen('create')}
          aria-keyshortcuts="n"
        >
          <PlusIcon />
          {words.create}
        </Button>
      )}
      {open === 'find' && <FindToken onClose={close} />}
      {open === 'create' && <NewToken onClose={close} />}
    </>
  )
}

/** Settings › Static Tokens: list, creation and deletion (ui.md §11.12). */
export const Tokens = () => {
  const { q, at, ns, places, status, access, maker, order, address, read, rows } = useTokens()
  const { zone } = usePreferences()
  const why = useWhyNot(at)
  const missing = useMissing()
  const whyKept = (records: readonly Authentication[]) => why ?? missing(...records.map(removalOf))
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set())
  const [removing, setRemoving] = useState<readonly Authentication[]>([])
  const methods = useQuery({ queryKey: keys.methods, queryFn: ({ signal }) => readMethods(signal) })
  const off = methods.data?.staticTokens === false
  const selecting: Selecting = {
    chosen,
    choose: (ids, on) => setChosen((before) => (on ? before.union(new Set(ids)) : before.difference(new Set(ids)))),
    remove: setRemoving,
    whyKept,
  }
  const selected = rows.filter(({ id }) => chosen.has(id))
  return (
    <>
      <List
        words={words}
        read={{ ...read, rows }}
        address={address}
        q={q}
        filtered={status !== '' || access !== '' || maker !== '' || (!places && ns !== '')}
        cleared={{ status: '', access: '', maker: '', ...(!places && { ns: '' }) }}
        filters={<Filters {...{ status, access, ns, places }} onFilter={(change) => address.filter(change)} />}
        create={<Openers off={off} why={why} />}
        nothing={<p>{words.noneWhy}</p>}
        table={{
          columns: columnsOf(rows, zoneName(zone), selecting),
          rowKey: ({ id }) => id,
          heads: 'token',
          order,
          onOrder: (next) => address.filter({ sort: sortOf(next, SORTS[0]) }),
          chosen: ({ id }) => chosen.has(id),
        }}
      >
        {maker !== '' && <MakerFilter id={maker} onRemove={() => address.filter({ maker: '' })} />}
        {places && <p className="hint">{words.onlyBound}</p>}
        {off && <p className="muted">{words.off}</p>}
        {selected.length > 0 && (
          <Selection
            count={selected.length}
            why={whyKept(selected)}
            onClear={() => setChosen(new Set())}
            onDelete={() => setRemoving(selected)}
          />
        )}
      </List>
      {removing.length > 0 && (
        <RemoveRecords
          words={words.remove}
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
