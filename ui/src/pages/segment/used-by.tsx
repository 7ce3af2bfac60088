import { useState } from 'react'
import type { ListedFlag } from '../../api/flags.ts'
import { keys } from '../../api/keys.ts'
import { readUsages, type Segment } from '../../api/segments.ts'
import { toFlag } from '../../links.ts'
import { Pager } from '../../parts/lists/pager.tsx'
import { LoadFailed, Loading } from '../../parts/lists/states.tsx'
import { type Column, Table } from '../../parts/lists/table.tsx'
import { useListRead } from '../../parts/lists/use-list-read.ts'
import { NamedLink } from '../../parts/named-link.tsx'
import { states } from '../../words/common.ts'
import { segment as words } from '../../words/segments.ts'

const columnsOf = (ns: string): readonly Column<ListedFlag>[] => [
  {
    key: 'flag',
    head: words.flag,
    cell: ({ key, name }) => <NamedLink to={toFlag(ns, key)} name={name} thingKey={key} />,
  },
  { key: 'where', head: words.where, cell: ({ segmentUses = [] }) => words.uses(segmentUses) },
]

/** Paged list of the flags that use a segment, with their rules and rollouts that use it. */
export const UsedBy = ({
  segment: { namespaceKey, key },
  at,
}: {
  readonly segment: Segment
  readonly at: string | undefined
}) => {
  const [pages, setPages] = useState<readonly string[]>([])
  const {
    page: data,
    error,
    isPlaceholderData,
    refetch,
  } = useListRead([...keys.flags(namespaceKey), 'using', key], { page: pages.at(-1), at }, (asked, signal) =>
    readUsages(namespaceKey, key, asked, signal),
  )
  const next = data?.nextPageToken ?? ''
  return (
    <section className="stack">
      <h2>{words.usedBy}</h2>
      {error && <LoadFailed things={words.usages} error={error} onRetry={() => void refetch()} />}
      {!data && !error && <Loading rows={2} />}
      {data?.totalCount === 0 && <p className="muted">{words.unused}</p>}
      {data && data.flags.length > 0 && (
        <div>
          <Table
            name={words.usedBy}
            columns={columnsOf(namespaceKey)}
            rows={data.flags}
            rowKey={(flag) => flag.key}
            heads="flag"
          />
          <Pager
            onPrevious={pages.length === 0 ? undefined : () => setPages(pages.slice(0, -1))}
            onNext={next === '' ? undefined : () => setPages([...pages, next])}
            why={error && isPlaceholderData ? states.notLoaded(words.usages) : undefined}
          />
        </div>
      )}
    </section>
  )
}
