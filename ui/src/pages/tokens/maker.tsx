import type { Authentication } from '../../api/tokens.ts'
import { identityOf } from '../../identity.ts'
import { Happened } from '../../parts/editing/changed.tsx'
import { Chips } from '../../parts/lists/chips.tsx'
import { RecordLink, useRecord } from '../../parts/record-link.tsx'
import { tokens as words } from '../../words/tokens.ts'

/** Time and creator of a token. */
export const Made = ({ record }: { readonly record: Authentication }) => {
  const maker = useRecord(record.issuedBy)
  return <Happened at={record.createdAt} by={maker ? identityOf(maker) : record.issuedBy?.slice(0, 8)} />
}

/** Creator of a token, as a link to its record. */
export const Maker = ({ record: { issuedBy } }: { readonly record: Authentication }) =>
  issuedBy === undefined ? <>{words.nobody}</> : <RecordLink id={issuedBy} />

/** Filter of a list by the creator of its tokens. */
export const MakerFilter = ({ id, onRemove }: { readonly id: string; readonly onRemove: () => void }) => {
  const maker = useRecord(id)
  const label = words.byMaker(maker ? identityOf(maker) : id)
  return (
    <Chips
      name={words.filters}
      values={[id]}
      words={() => label}
      removeWords={words.removeFilter}
      onRemove={onRemove}
    />
  )
}
