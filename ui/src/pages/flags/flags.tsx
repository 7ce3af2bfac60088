import { PlusIcon } from '@primer/octicons-react'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { useCallback } from 'react'
import { type ListedFlag, readFlags } from '../../api/flags.ts'
import { keys } from '../../api/keys.ts'
import { Button, buttonClass, Tip } from '../../parts/button.tsx'
import { Select } from '../../parts/field.tsx'
import { zoneName } from '../../parts/moment.ts'
import { PageHead } from '../../parts/page.tsx'
import { Pager } from '../../parts/pager.tsx'
import { useListAddress } from '../../parts/paging.ts'
import { Safe } from '../../parts/safe.tsx'
import { SearchField } from '../../parts/search-field.tsx'
import { Empty, Loading, LoadFailed } from '../../parts/states.tsx'
import { type Column, type Order, Table } from '../../parts/table.tsx'
import { Time } from '../../parts/time.tsx'
import { usePreferences } from '../../preferences.ts'
import { useWhyNot } from '../../why-not.ts'
import { common, number } from '../../words/common.ts'
import { flags as words } from '../../words/flags.ts'
import { actorName } from './actor.ts'
import { Targeting } from './targeting.tsx'

const here = getRouteApi('/inside/ns/$ns/flags')

const optionsOf = <K extends string>(of: Readonly<Record<K, string>>, first: K) => [
  { value: first, label: of[first] },
  ...(Object.entries(of) as [K, string][])
    .filter(([value]) => value !== first)
    .map(([value, label]) => ({ value, label })),
]
const types = optionsOf(words.types, '')
const states = optionsOf(words.states, '')
const sorts = ['name', 'key', 'changedAt']

/** The order that the address asks for; `-name` goes down. */
const orderOf = (sort: string | undefined): Order => {
  const by = sort?.replace(/^-/, '') ?? ''
  return sorts.includes(by) ? { by, descending: sort!.startsWith('-') } : { by: 'name', descending: false }
}

const Changed = ({ flag: { changedAt, changedBy, updatedAt } }: { readonly flag: ListedFlag }) => (
  <span>
    <Time instant={changedAt ?? updatedAt} />{' '}
    {changedBy && (
      <span className="muted small">
        <Safe text={words.by(actorName(changedBy))} />
      </span>
    )}
  </span>
)

const columnsOf = (ns: string, zone: string): readonly Column<ListedFlag>[] => [
  {
    key: 'flag',
    head: words.columns.flag,
    sort: 'name',
    cell: ({ key, name }) => (
      <>
        <Link to="/ns/$ns/flags/$key" params={{ ns, key }}>
          <Safe text={name} />
        </Link>
        <code className="key">
          <Safe text={key} />
        </code>
      </>
    ),
  },
  { key: 'type', head: words.columns.type, cell: ({ type }) => words.typeOf(type) },
  {
    key: 'state',
    head: words.columns.state,
    cell: ({ type, enabled }) => (
      <span>
        <span className={enabled ? 'badge on' : 'badge off'}>{words.stateOf(type, enabled)}</span>
      </span>
    ),
  },
  { key: 'targeting', head: words.columns.targeting, cell: (flag) => <Targeting flag={flag} /> },
  {
    key: 'changed',
    head: words.columns.changed(zone),
    label: words.columns.changedLabel,
    sort: 'changedAt',
    cell: (flag) => <Changed flag={flag} />,
  },
]

const Create = ({ ns, why }: { readonly ns: string; readonly why: string | undefined }) => {
  const link = (
    <Link
      to="/ns/$ns/flags/new"
      params={{ ns }}
      className={buttonClass('primary')}
      aria-keyshortcuts="n"
      disabled={why !== undefined}
      tabIndex={0}
    >
      <PlusIcon />
      {words.create}
    </Link>
  )
  return why === undefined ? link : <Tip words={why}>{link}</Tip>
}

/** The flags of a namespace: found, and what each answers at a glance (ui.md §11.2). */
export const Flags = () => {
  const { ns } = here.useParams()
  const search = here.useSearch()
  const { q = '', page, at } = search
  const type = types.find(({ value }) => value === search.type)?.value ?? ''
  const state = states.find(({ value }) => value === search.state)?.value ?? ''
  const order = orderOf(search.sort)
  const address = useListAddress(search)
  const { zone } = usePreferences()
  const why = useWhyNot(at)
  const asked = { q, type, enabled: state, sort: order.by, order: order.descending ? 'desc' : 'asc', page, at }
  const { data, error, isFetching, refetch } = useQuery({
    queryKey: [...keys.flags(ns), asked],
    queryFn: ({ signal }) => readFlags(ns, asked, signal),
    placeholderData: (before, query) => (query?.queryKey[1] === ns ? before : undefined),
  })
  const onSearch = useCallback((text: string) => address.filter({ q: text }), [address])
  const rows = data?.flags ?? []
  const filtered = q !== '' || type !== '' || state !== ''
  return (
    <>
      <PageHead
        heading={
          <>
            {words.heading} {data && <span className="count">{number(data.totalCount)}</span>}
          </>
        }
        title={[words.heading, ns]}
      >
        <Create ns={ns} why={why} />
      </PageHead>
      <div className="filters">
        <SearchField label={words.search} value={q} onSearch={onSearch} />
        <Select
          label={words.type}
          hiddenLabel
          value={type}
          options={types}
          onChange={(value) => address.filter({ type: value })}
        />
        <Select
          label={words.state}
          hiddenLabel
          value={state}
          options={states}
          onChange={(value) => address.filter({ state: value })}
        />
      </div>
      {error && <LoadFailed things={words.things} error={error} onRetry={() => void refetch()} />}
      {!data && !error && <Loading />}
      {data && rows.length === 0 && (
        <Empty title={filtered ? words.noMatch : words.none}>
          {filtered ? (
            <Button onClick={() => address.filter({ q: '', type: '', state: '' })}>{common.clearSearch}</Button>
          ) : (
            <>
              <p>{words.noneWhy}</p>
              <Create ns={ns} why={why} />
              <p className="muted">
                {words.importWhy} <code>{words.importLine}</code>
              </p>
            </>
          )}
        </Empty>
      )}
      {rows.length > 0 && (
        <div aria-busy={isFetching || undefined}>
          <Table
            name={words.table}
            columns={columnsOf(ns, zoneName(zone))}
            rows={rows}
            rowKey={({ key }) => key}
            heads="flag"
            order={order}
            onOrder={({ by, descending }) =>
              address.filter({ sort: by === 'name' && !descending ? '' : `${descending ? '-' : ''}${by}` })
            }
          />
          <Pager onPrevious={address.previous} onNext={address.next(data?.nextPageToken ?? '')} />
        </div>
      )}
    </>
  )
}
