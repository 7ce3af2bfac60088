import { PlusIcon } from '@primer/octicons-react'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { type Flag, readFlags } from '../../api/flags.ts'
import { keys } from '../../api/keys.ts'
import { buttonClass, Tip } from '../../parts/button.tsx'
import { PageHead } from '../../parts/page.tsx'
import { Pager } from '../../parts/pager.tsx'
import { useListAddress } from '../../parts/paging.ts'
import { Safe } from '../../parts/safe.tsx'
import { Empty, Loading, LoadFailed } from '../../parts/states.tsx'
import { type Column, Table } from '../../parts/table.tsx'
import { useWhyNot } from '../../why-not.ts'
import { number } from '../../words/common.ts'
import { flags as words } from '../../words/flags.ts'

const here = getRouteApi('/inside/ns/$ns/flags')

const columnsOf = (ns: string): readonly Column<Flag>[] => [
  {
    key: 'flag',
    head: words.columns.flag,
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
      <span className={enabled ? 'badge on' : 'badge off'}>{words.stateOf(type, enabled)}</span>
    ),
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

/** The flags of a namespace (ui.md §11.2). */
export const Flags = () => {
  const { ns } = here.useParams()
  const search = here.useSearch()
  const { page, at } = search
  const address = useListAddress(search)
  const why = useWhyNot(at)
  const asked = { page, at }
  const { data, error, isFetching, refetch } = useQuery({
    queryKey: [...keys.flags(ns), asked],
    queryFn: ({ signal }) => readFlags(ns, asked, signal),
    placeholderData: (before, query) => (query?.queryKey[1] === ns ? before : undefined),
  })
  const rows = data?.flags ?? []
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
      {error && <LoadFailed things={words.things} error={error} onRetry={() => void refetch()} />}
      {!data && !error && <Loading />}
      {data && rows.length === 0 && (
        <Empty title={words.none}>
          <p>{words.noneWhy}</p>
          <Create ns={ns} why={why} />
          <p className="muted">
            {words.importWhy} <code>{words.importLine}</code>
          </p>
        </Empty>
      )}
      {rows.length > 0 && (
        <div aria-busy={isFetching || undefined}>
          <Table name={words.table} columns={columnsOf(ns)} rows={rows} rowKey={({ key }) => key} heads="flag" />
          <Pager onPrevious={address.previous} onNext={address.next(data?.nextPageToken ?? '')} />
        </div>
      )}
    </>
  )
}
