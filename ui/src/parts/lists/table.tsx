import { ArrowDownIcon, ArrowUpIcon } from '@primer/octicons-react'
import { Fragment, type ReactNode } from 'react'

export type Column<R> = {
  readonly key: string
  readonly head: ReactNode
  /** Label next to the cell in the narrow layout; default: `head`, if that is a text. */
  readonly label?: string
  readonly cell: (row: R) => ReactNode
  /** Value of `sort` in the API. */
  readonly sort?: string
}

export type Order = { readonly by: string; readonly descending: boolean }

export type TableProps<R> = {
  readonly name: string
  readonly columns: readonly Column<R>[]
  readonly rows: readonly R[]
  readonly rowKey: (row: R) => string
  /** Key of the column with the row header. */
  readonly heads: string
  readonly order?: Order
  readonly onOrder?: (order: Order) => void
  readonly chosen?: (row: R) => boolean
  /** Expanded content below a row. */
  readonly detail?: (row: R) => ReactNode
}

const Head = <R,>({
  column,
  order,
  onOrder,
}: Pick<TableProps<R>, 'order' | 'onOrder'> & { readonly column: Column<R> }) => {
  const { sort, head } = column
  if (sort === undefined || !onOrder)
    return (
      <th scope="col" role="columnheader">
        {head}
      </th>
    )
  const mine = order?.by === sort
  return (
    <th scope="col" role="columnheader" aria-sort={mine ? (order.descending ? 'descending' : 'ascending') : undefined}>
      <button
        type="button"
        className="sort"
        onClick={() => onOrder({ by: sort, descending: mine ? !order.descending : false })}
      >
        {head}
        {mine && (order.descending ? <ArrowDownIcon size={12} /> : <ArrowUpIcon size={12} />)}
      </button>
    </th>
  )
}

/**
 * Table whose rows become blocks in a narrow window. Roles are explicit, because CSS `display: block` removes the
 * implicit ones.
 */
export const Table = <R,>({ name, columns, rows, rowKey, heads, order, onOrder, chosen, detail }: TableProps<R>) => (
  <div className="table-scroll" role="region" aria-label={name} tabIndex={0}>
    <table className="rows" role="table" aria-label={name}>
      <thead role="rowgroup">
        <tr role="row">
          {columns.map((column) => (
            <Head key={column.key} column={column} {...(order && { order })} {...(onOrder && { onOrder })} />
          ))}
        </tr>
      </thead>
      <tbody role="rowgroup">
        {rows.map((row) => {
          const open = detail?.(row)
          return (
            <Fragment key={rowKey(row)}>
              <tr role="row" data-chosen={chosen?.(row) || undefined}>
                {columns.map(({ key, head, label, cell }) =>
                  key === heads ? (
                    <th key={key} scope="row" role="rowheader">
                      {cell(row)}
                    </th>
                  ) : (
                    <td key={key} role="cell" data-label={label ?? (typeof head === 'string' ? head : '')}>
                      {cell(row)}
                    </td>
                  ),
                )}
              </tr>
              {open && (
                <tr role="row" className="detail">
                  <td role="cell" colSpan={columns.length}>
                    {open}
                  </td>
                </tr>
              )}
            </Fragment>
          )
        })}
      </tbody>
    </table>
  </div>
)
