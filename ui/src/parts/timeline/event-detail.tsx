import { Link } from '@tanstack/react-router'
import { type ReactNode, useState } from 'react'
import { changedItems } from '../../../../src/contract/changed-items.ts'
import type { HistoryEvent } from '../../api/history.ts'
import { type Preferences, usePreferences } from '../../preferences.ts'
import { common } from '../../words/common.ts'
import { history, eventWords as words } from '../../words/history.ts'
import { Button } from '../button.tsx'
import { Code } from '../code.tsx'
import { Facts, type FactsOf } from '../facts.tsx'
import { CodeText, Safe } from '../feedback/safe.tsx'
import { zoneName } from '../moment.ts'
import { Time } from '../time.tsx'
import { EventActions } from './event-actions.tsx'
import { actorOf } from './event-actor.ts'
import { toToken } from './event-links.ts'
import { PersonalData } from './personal-data.tsx'

type Change = HistoryEvent['changes'][number]

const textOf = (value: unknown): string =>
  typeof value === 'string' ? value || common.emptyValue : JSON.stringify(value, null, 2)

/** JSON Pointer as words: its names, separated by arrows. */
const pathOf = (pointer: string): string =>
  pointer
    .split('/')
    .slice(1)
    .map((name) => name.replaceAll('~1', '/').replaceAll('~0', '~'))
    .join(' › ')

const kindOf = (change: Change): string => {
  if (!('from' in change) && 'to' in change) return words.added
  return 'to' in change ? words.changed : words.removed
}

/** Value before or after a change, with its sign. */
const Side = ({ sign, name, value }: { readonly sign: '+' | '−'; readonly name: string; readonly value: unknown }) => (
  <div className={sign === '+' ? 'side added' : 'side removed'}>
    <span className="visually-hidden">{name}</span>
    <span aria-hidden="true">{sign}</span>
    <CodeText text={textOf(value)} />
  </div>
)

/** Difference that an event made in a field: its values before and after, or the items of a list that differ. */
const EventChange = ({ change }: { readonly change: Change }) => {
  const items = changedItems(change.from, change.to)
  const removed = items?.removed ?? ('from' in change ? [change.from] : [])
  const added = items?.added ?? ('to' in change ? [change.to] : [])
  return (
    <li className="tight">
      <div>
        <CodeText text={pathOf(change.path) || words.whole} />{' '}
        <span className="muted small">
          {kindOf(change)}
          {items && `, ${common.unchanged(items.same)}`}
        </span>
      </div>
      {removed.map((value, n) => (
        <Side key={n} sign="−" name={words.before} value={value} />
      ))}
      {added.map((value, n) => (
        <Side key={n} sign="+" name={words.after} value={value} />
      ))}
    </li>
  )
}

const EventChanges = ({ changes }: Pick<HistoryEvent, 'changes'>) => (
  <ul className="event-changes" aria-label={words.changes}>
    {changes.map((change) => (
      <EventChange key={change.path} change={change} />
    ))}
  </ul>
)

/** Actor of an event, as a link to its token or session. */
const Actor = ({ event }: { readonly event: HistoryEvent }) => {
  const { id, method = 'token', kind, host } = event.actor
  const name = <Safe text={host === undefined ? actorOf(event) : `${actorOf(event)}@${host}`} />
  return kind === 'token' && id !== undefined ? <Link {...toToken(id, method)}>{name}</Link> : name
}

const codeOf = (text: string | undefined) => (text === undefined ? undefined : <CodeText text={text} />)

/** Facts of a refused request, which the service recorded later than it refused. */
const refusalOf = ({ data, method = 'token' }: HistoryEvent, zone: Preferences['zone']): FactsOf => {
  const { refusedAt, tokenId, right, namespace } = data
  return {
    [words.refusedAt(zoneName(zone))]: typeof refusedAt === 'string' ? <Time instant={refusedAt} exact /> : undefined,
    [words.token]:
      typeof tokenId === 'string' ? (
        <Link {...toToken(tokenId, method)}>
          <Safe text={tokenId} />
        </Link>
      ) : undefined,
    [words.right]:
      typeof right === 'string' ? codeOf(typeof namespace === 'string' ? `${right} (${namespace})` : right) : undefined,
  }
}

/** Categories of events that people make and can give a reason for. */
const REASONED: ReadonlySet<string> = new Set(['flag', 'segment', 'namespace', 'token'])

const Reason = ({ text }: { readonly text: string | undefined }) =>
  text === undefined ? <span className="muted">{words.noReason}</span> : <Safe text={text} />

const EventFacts = ({ event }: { readonly event: HistoryEvent }) => {
  const { zone } = usePreferences()
  const { type, version, outcome, reason } = event
  const canHaveReason = event.actor.kind === 'token' && REASONED.has(event.category)
  const facts = {
    [words.time(zoneName(zone))]: <Time instant={event.time} exact />,
    [words.actor]: <Actor event={event} />,
    [words.outcome]: outcome === 'success' ? undefined : history.outcomes[outcome],
    [words.reason]: reason !== undefined || canHaveReason ? <Reason text={reason} /> : undefined,
    ...(type === 'AuthenticationRefused' && refusalOf(event, zone)),
    [words.type]: codeOf(version === 1 ? type : `${type} v${version}`),
    [words.stream]: codeOf(event.stream),
    [words.revision]: event.revision,
    [words.command]: codeOf(event.command),
    [words.route]: codeOf(event.route),
    [words.request]: codeOf(event.requestId),
    [words.correlation]: codeOf(event.correlationId),
    [words.cause]: codeOf(event.causationId),
    [words.instance]: codeOf(event.instance),
  }
  return <Facts label={words.facts} of={facts} />
}

const Json = ({ event: { data, meta } }: { readonly event: HistoryEvent }): ReactNode => {
  const [shown, setShown] = useState(false)
  return (
    <div className="tight">
      <div>
        <Button aria-expanded={shown} onClick={() => setShown(!shown)}>
          {words.json}
        </Button>
      </div>
      {shown && (
        <>
          <Code label={words.data} text={JSON.stringify(data, null, 2)} />
          <Code label={words.meta} text={JSON.stringify(meta, null, 2)} />
        </>
      )}
    </div>
  )
}

/** Details of an event: its changes, its origin, its personal data, and the ways on. */
export const EventDetail = ({ event }: { readonly event: HistoryEvent }) => (
  <div className="stack">
    {event.changes.length > 0 && <EventChanges changes={event.changes} />}
    <EventFacts event={event} />
    <PersonalData event={event} />
    <Json event={event} />
    <EventActions event={event} />
  </div>
)
