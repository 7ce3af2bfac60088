import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { EVERY, holds, useAccess } from '../../api/access.ts'
import { type HistoryEvent, readEvents } from '../../api/history.ts'
import { keys } from '../../api/keys.ts'
import { type Authentication, nameOf, readTokens } from '../../api/tokens.ts'
import type { FactsOf } from '../../parts/facts.tsx'
import { Safe } from '../../parts/feedback/safe.tsx'
import { LastUsed } from '../../parts/last-used.tsx'
import { zoneName } from '../../parts/moment.ts'
import { Time } from '../../parts/time.tsx'
import { actorOf } from '../../parts/timeline/event-actor.ts'
import { usePreferences } from '../../preferences.ts'
import { tokens as words } from '../../words/tokens.ts'
import { Maker } from './maker.tsx'

/** Times of a token from its creation to its end. */
export const Life = ({ record }: { readonly record: Authentication }) => {
  const { zone } = usePreferences()
  const { status, createdAt, expiresAt, deletedAt } = record
  const hasExpired =
    status === 'EXPIRED' || (expiresAt !== undefined && deletedAt !== undefined && expiresAt < deletedAt)
  const { moments } = words
  const steps = [
    { name: words.columns.created(zoneName(zone)), time: <Time instant={createdAt} exact /> },
    { name: moments.used, time: <LastUsed record={record} /> },
    { name: hasExpired ? moments.expired : moments.expires, time: <Time instant={expiresAt} exact /> },
    ...(deletedAt === undefined ? [] : [{ name: moments.removed, time: <Time instant={deletedAt} exact /> }]),
  ]
  return (
    <ol className="strip" aria-label={words.life}>
      {steps.map(({ name, time }) => (
        <li key={name}>
          <span className="muted small">{name}</span>
          <span>{time}</span>
        </li>
      ))}
    </ol>
  )
}

const ISSUE = 'TokenIssued'
const TURNS = [ISSUE, 'TokenRevoked', 'TokenExpired']

const useHolds = (right: string): boolean => {
  const { access } = useAccess()
  return access !== undefined && holds(access, { right, namespaceKey: EVERY })
}

/** Reads the events that created and ended a token, if the user may read the history of tokens. */
const useTurns = ({ id, status }: Authentication): readonly HistoryEvent[] => {
  const enabled = useHolds('audit.read')
  const { data } = useQuery({
    queryKey: [...keys.tokens, 'turns', id, status],
    queryFn: ({ signal }) =>
      readEvents({ stream: `token-${id}`, type: TURNS.join(',') }, undefined, signal, TURNS.length),
    enabled,
  })
  return data?.events ?? []
}

const Reason = ({ event }: { readonly event: HistoryEvent | undefined }) =>
  event?.reason === undefined ? null : (
    <span className="key">
      <Safe text={words.because(event.reason)} />
    </span>
  )

/** Facts: the creator of a token, the actor who ended it, and their reasons. */
export const useMakerAndEnder = (record: Authentication): FactsOf => {
  const turns = useTurns(record)
  const issued = turns.find(({ type }) => type === ISSUE)
  const ended = record.status === 'DELETED' ? turns.find(({ type }) => type !== ISSUE) : undefined
  return {
    [words.maker]: (
      <>
        {record.issuedBy === undefined && issued ? <Safe text={actorOf(issued)} /> : <Maker record={record} />}
        <Reason event={issued} />
      </>
    ),
    [words.ender]: ended && (
      <>
        <Safe text={actorOf(ended)} />
        <Reason event={ended} />
      </>
    ),
  }
}

const SHOWN = 5

/** Newest tokens that a token created, and a link to the list of all; nothing if there are none. */
export const MadeTokens = ({ id, at }: { readonly id: string; readonly at: string | undefined }) => {
  const filter = { kind: 'static', issuedBy: id, limit: SHOWN, at } as const
  const { data } = useQuery({
    queryKey: [...keys.tokens, 'made', id, at],
    queryFn: ({ signal }) => readTokens(filter, signal),
    enabled: useHolds('token.read'),
  })
  if (!data || data.totalCount === 0) return null
  return (
    <section className="tight">
      <h2>{words.made}</h2>
      <ul className="tight" aria-label={words.made}>
        {data.authentications.map((record) => (
          <li key={record.id}>
            <Link to="/settings/tokens/$id" params={{ id: record.id }}>
              <Safe text={nameOf(record)} />
            </Link>
          </li>
        ))}
      </ul>
      <p>
        <Link to="/settings/tokens" search={{ maker: id }}>
          {words.allMade(data.totalCount)}
        </Link>
      </p>
    </section>
  )
}
