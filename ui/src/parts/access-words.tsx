import { isFull, isPublishable } from '../api/access.ts'
import { type Authentication, boundTo } from '../api/tokens.ts'
import { access } from '../words/access.ts'
import { tokens as words } from '../words/tokens.ts'
import { Safe } from './feedback/safe.tsx'

/** Describes the access of a token; full access without expiry is marked. */
export const AccessWords = ({ record }: { readonly record: Authentication }) => {
  const { grants, expiresAt, status } = record
  if (isFull(record)) {
    const endless = expiresAt === undefined && status === 'ACTIVE'
    return endless ? <span className="badge warn bare">{words.endless}</span> : <>{access.full}</>
  }
  return <Safe text={grants ? access.grants(grants) : words.of(boundTo(record) ?? '')} />
}

/** List of the grants of a token with their rights; nothing for a token without grants. */
export const Grants = ({ record }: { readonly record: Authentication }) =>
  record.grants && (
    <section className="tight">
      <h2>{access.list}</h2>
      <ul className="tight" aria-label={access.list}>
        {record.grants.map((grant, n) => (
          <li key={n}>
            <Safe text={access.grant(grant)} />
            <div className="muted small">{access.can(grant.rights)}</div>
          </li>
        ))}
      </ul>
      {isPublishable(record) && <p className="muted">{access.publishable}</p>}
    </section>
  )
