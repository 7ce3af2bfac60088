import { getRouteApi } from '@tanstack/react-router'
import { keys } from '../../api/keys.ts'
import { type ListedSegment, readSegments } from '../../api/segments.ts'
import { toNewSegment, toSegment } from '../../links.ts'
import { Changed } from '../../parts/editing/changed.tsx'
import { CreateLink } from '../../parts/lists/create-link.tsx'
import { List } from '../../parts/lists/list.tsx'
import { orderOf, sortOf, useListAddress } from '../../parts/lists/paging.ts'
import type { Column } from '../../parts/lists/table.tsx'
import { useListRead } from '../../parts/lists/use-list-read.ts'
import { zoneName } from '../../parts/moment.ts'
import { NamedLink } from '../../parts/named-link.tsx'
import { useMissingHistory } from '../../parts/timeline/missing-right.ts'
import { usePreferences } from '../../preferences.ts'
import { useWhyNot } from '../../why-not.ts'
import { number } from '../../words/common.ts'
import { segments as words } from '../../words/segments.ts'

const here = getRouteApi('/inside/ns/$ns/segments')

const columnsOf = (ns: string, zone: string, readable: boolean): readonly Column<ListedSegment>[] => [
  {
    key: 'segment',
    head: words.columns.segment,
    sort: 'name',
    cell: ({ key, name }) => <NamedLink to={toSegment(ns, key)} name={name} thingKey={key} />,
  },
  { key: 'match', head: words.columns.match, cell: ({ matchType }) => words.matches[matchType] },
  { key: 'constraints', head: words.columns.constraints, cell: ({ constraints }) => number(constraints.length) },
  { key: 'used-by', head: words.columns.usedBy, cell: ({ usageCount = 0 }) => words.flags(usageCount) },
  {
    key: 'changed',
    head: words.columns.changed(zone),
    label: words.columns.changedLabel,
    sort: 'changedAt',
    cell: ({ key, changedAt, changedBy, updatedAt }) => (
      <Changed
        at={changedAt ?? updatedAt}
        by={changedBy}
        of={readable ? { namespaceKey: ns, segmentKey: key } : undefined}
      />
    ),
  },
]

/** List page of the segments of a namespace, with their number of flags (ui.md §11.5). */
export const Segments = () => {
  const { ns } = here.useParams()
  const search = here.useSearch()
  const { q = '', page, at } = search
  const order = orderOf(search.sort, ['name', 'key', 'changedAt'])
  const address = useListAddress(search)
  const { zone } = usePreferences()
  const why = useWhyNot(at, { right: 'segment.create', namespaceKey: ns })
  const readable = useMissingHistory(ns) === undefined
  const asked = { q, sort: order.by, order: order.descending ? 'desc' : 'asc', page, at }
  const read = useListRead(keys.segments(ns), asked, (of, signal) => readSegments(ns, of, signal))
  const create = (
    <CreateLink to={toNewSegment(ns)} why={why}>
      {words.create}
    </CreateLink>
  )
  return (
    <List
      words={words}
      of={ns}
      at={at}
      read={{ ...read, rows: read.page?.segments ?? [] }}
      address={address}
      q={q}
      create={create}
      nothing={
        <>
          <p>{words.noneWhy}</p>
          {create}
        </>
      }
      table={{
        columns: columnsOf(ns, zoneName(zone), readable),
        rowKey: ({ key }) => key,
        heads: 'segment',
        order,
        onOrder: (next) => address.filter({ sort: sortOf(next, 'name') }),
      }}
    />
  )
}
