import { type ReactNode, useCallback } from 'react'
import { common, number, states } from '../../words/common.ts'
import { Button } from '../button.tsx'
import { SearchField } from '../fields/search-field.tsx'
import { PageHead } from '../page.tsx'
import { Pager } from './pager.tsx'
import type { useListAddress } from './paging.ts'
import { Empty, LoadFailed, Loading, StillLoading } from './states.tsx'
import { Table, type TableProps } from './table.tsx'

/** What a list is called, and what it says where it has nothing. */
export type ListWords = {
  readonly heading: string
  readonly things: string
  readonly table: string
  readonly search: string
  readonly searchHint?: string
  readonly none: string
  readonly noMatch: string
}

/** One page of a list, as its read stands. */
type Read<R> = {
  readonly page: { readonly totalCount: number; readonly nextPageToken: string } | undefined
  readonly rows: readonly R[]
  readonly error: unknown
  readonly isFetching: boolean
  /** What is shown was the answer to something else. */
  readonly isPlaceholderData: boolean
  readonly refetch: () => unknown
}

type ListProps<R> = {
  readonly words: ListWords
  /** What the list is of, for the name of the window. */
  readonly of?: string
  readonly read: Read<R>
  readonly address: ReturnType<typeof useListAddress>
  readonly q: string
  /** The filters besides the search: their fields, and what empties them in the address. */
  readonly filters?: ReactNode
  readonly filtered?: boolean
  readonly cleared?: Readonly<Record<string, ''>>
  /** The first action of the page. */
  readonly create?: ReactNode
  /** What is said where there is nothing yet. */
  readonly nothing: ReactNode
  /** What stands between the filters and the rows. */
  readonly children?: ReactNode
  readonly table: Omit<TableProps<R>, 'name' | 'rows'>
}

/** A page that lists things: searched, filtered, sorted and paged by the service, each state with its words. */
export const List = <R,>({
  words,
  of,
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
  const onSearch = useCallback((text: string) => address.filter({ q: text }), [address])
  const narrowed = filtered || q !== ''
  const failed = error !== null
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
          onSearch={onSearch}
        />
        {filters}
      </div>
      {children}
      {failed && <LoadFailed things={words.things} error={error} onRetry={() => void refetch()} />}
      {(!page || (isPlaceholderData && rows.length === 0)) && !failed && <Loading />}
      {isPlaceholderData && rows.length > 0 && !failed && <StillLoading />}
      {page && !isPlaceholderData && rows.length === 0 && (
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
