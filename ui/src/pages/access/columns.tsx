import { Link } from '@tanstack/react-router'
import type { Reviewed } from '../../api/review.ts'
import { Safe } from '../../parts/feedback/safe.tsx'
import type { Column } from '../../parts/lists/table.tsx'
import { RecordLink } from '../../parts/record-link.tsx'
import { review as words } from '../../words/review.ts'

/** Name of a token as a link. The names of sessions are personal data, so their records are read. */
const Named = ({ row: { authenticationId: id, name } }: { readonly row: Reviewed }) =>
  name === undefined ? (
    <>
      <RecordLink id={id} />
      <span className="key">{words.session}</span>
    </>
  ) : (
    <Link to="/settings/tokens/$id" params={{ id }}>
      <Safe text={name} />
    </Link>
  )

/** Columns of an access review in a namespace. */
export const columnsOf = (namespaceKey: string): readonly Column<Reviewed>[] => [
  { key: 'token', head: words.columns.token, cell: (row) => <Named row={row} /> },
  {
    key: 'why',
    head: words.columns.why,
    cell: ({ reason, because }) => <Safe text={words.reason(reason, namespaceKey, because)} />,
  },
  {
    key: 'maker',
    head: words.columns.maker,
    cell: ({ issuedBy, name }) => (
      <span>
        {issuedBy !== undefined && <RecordLink id={issuedBy} />}
        {issuedBy === undefined && (name === undefined ? words.signIn : words.noMaker)}
      </span>
    ),
  },
]
