import type { ReactNode } from 'react'
import { common, number, states } from '../../words/common.ts'
import { Button } from '../button.tsx'
import { SearchField } from '../fields/search-field.tsx'
import { PageHead } from '../page.tsx'
import { NoNamespace, useNamespaceExists } from './no-namespace.tsx'
import { Pager } from './pager.tsx'
import type { useListAddress } from './paging.ts'
import { Empty, LoadFailed, Loading, StillLoading } from './states.tsx'
import { Table, type TableProps } from './table.tsx'

/** Texts of a list, including those of its empty states. */
type ListWords = {
  readonly heading: string
  readonly things: string
  readonly table: string
  readonly search: string
  readonly searchHint?: string
  readonly none: string
  readonly noMatch: string
}

/** Query result for one page of a list. */
type Read<R> = {
  readonly page: { readonly totalCount: number; readonly nextPageToken: string } | undefined
  readonly rows: readonly R[]
  readonly error: unknown
  readonly isFetching: boolean
  /** Whether the rows are from an earlier query. */
  readonly isPlaceholderData: boolean
  readonly refetch: () => unknown
}

type ListProps<R> = {
  readonly words: ListWords
  /** Namespace of the list, and the moment of the page. */
  readonly of?: string
  readonly at?: string | undefined
  readonly read: Read<R>
  readonly address: ReturnType<typeof useListAddress>
  readonly q: string
  /** Additional filters: their fields, and the address parameters that clear them. */
  readonly filters?: ReactNode
  readonly filtered?: boolean
  readonly cleared?: Readonly<Record<string, ''>>
  /** Primary action of the page. */
  readonly create?: ReactNode
  /** Content of an empty list. */
  readonly nothing: ReactNode
  /** Content between filters and rows. */
  readonly children?: ReactNode
  readonly table: Omit<TableProps<R>, 'name' | 'rows'>
}

/** List page whose search, filter, sort and paging run in the service; covers all loading, empty and error states. */
export const List = <R,>({
  words,
  of,
  at,
  read: { page, rows, error, isFetching, isPlaceholderData, refetch },
  address,
  q,
  filters,
  filtered = false,
  cleared = {},
  create,
  nothing,
  children,
  table,
}: ListProps<R>) => {
  const narrowed = filtered || q !== ''
  const failed = error !== null
  const empty = page !== undefined && !isPlaceholderData && rows.length === 0
  const exists = useNamespaceExists(of, at, empty || failed)
  if (exists === false) return <NoNamespace ns={of ?? ''} at={at} />
  return (
    <>
      <PageHead
        heading={
          <>
            {words.heading} {page && <span className="count">{number(page.totalCount)}</span>}
          </>
        }
        title={of === undefined ? [words.heading] : [words.heading, of]}
      >
        {create}
      </PageHead>
      <div className="filters">
        <SearchField
          label={words.search}
          {...(words.searchHint !== undefined && { placeholder: words.searchHint })}
          value={q}
          onSearch={(text) => address.filter({ q: text })}
        />
        {filters}
      </div>
      {children}
      {failed && <LoadFailed things={words.things} error={error} onRetry={() => void refetch()} />}
      {(!page || (isPlaceholderData && rows.length === 0) || exists === undefined) && !failed && <Loading />}
      {isPlaceholderData && rows.length > 0 && !failed && <StillLoading />}
      {empty && exists && (
        <Empty title={narrowed ? words.noMatch : words.none}>
          {narrowed ? (
            <Button onClick={() => address.filter({ ...cleared, q: '' })}>{common.clearSearch}</Button>
          ) : (
            nothing
          )}
        </Empty>
      )}
      {rows.length > 0 && (
        <div aria-busy={isFetching || undefined}>
          <Table name={words.table} rows={rows} {...table} />
          <Pager
            onPrevious={address.previous}
            onNext={address.next(page?.nextPageToken ?? '')}
            why={failed && isPlaceholderData ? states.notLoaded(words.things) : undefined}
          />
        </div>
      )}
    </>
  )
}
