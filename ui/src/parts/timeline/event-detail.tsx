import { Link } from '@tanstack/react-router'
import { type ReactNode, useState } from 'react'
import type { HistoryEvent } from '../../api/history.ts'
import { usePreferences } from '../../preferences.ts'
import { history, eventWords as words } from '../../words/history.ts'
import { Button } from '../button.tsx'
import { Code } from '../code.tsx'
import { Fact } from '../facts.tsx'
import { Safe } from '../feedback/safe.tsx'
import { zoneName } from '../moment.ts'
import { Time } from '../time.tsx'
import { EventActions } from './event-actions.tsx'
import { actorOf } from './event-actor.ts'
import { EventChanges } from './event-changes.tsx'
import { toToken } from './event-links.ts'
import { PersonalData } from './personal-data.tsx'

/** Actor of an event, as a link to its token or session. */
const Actor = ({ event }: { readonly event: HistoryEvent }) => {
  const { id, method = 'token', kind, host } = event.actor
  const name = <Safe text={host === undefined ? actorOf(event) : `${actorOf(event)}@${host}`} />
  return kind === 'token' && id !== undefined ? <Link {...toToken(id, method)}>{name}</Link> : name
}

const TextFact = ({ name, text }: { readonly name: string; readonly text: string | undefined }) =>
  text === undefined ? null : (
    <Fact name={name}>
      <code>
        <Safe text={text} />
      </code>
    </Fact>
  )

/** Facts of a refused request, which the service recorded later than it refused. */
const Refusal = ({ event }: { readonly event: HistoryEvent }) => {
  const { zone } = usePreferences()
  const { refusedAt, tokenId, right, namespace } = event.data
  return (
    <>
      {typeof refusedAt === 'string' && (
        <Fact name={words.refusedAt(zoneName(zone))}>
          <Time instant={refusedAt} exact />
        </Fact>
      )}
      {typeof tokenId === 'string' && (
        <Fact name={words.token}>
          <Link {...toToken(tokenId, event.method ?? 'token')}>
            <Safe text={tokenId} />
          </Link>
        </Fact>
      )}
      {typeof right === 'string' && (
        <TextFact name={words.right} text={typeof namespace === 'string' ? `${right} (${namespace})` : right} />
      )}
    </>
  )
}

/** Categories of events that people make and can give a reason for. */
const REASONED: ReadonlySet<string> = new Set(['flag', 'segment', 'namespace', 'token'])

const Facts = ({ event }: { readonly event: HistoryEvent }) => {
  const { zone } = usePreferences()
  const { type, version, stream, revision, outcome, reason } = event
  return (
    <dl className="about-list" aria-label={words.facts}>
      <Fact name={words.time(zoneName(zone))}>
        <Time instant={event.time} exact />
      </Fact>
      <Fact name={words.actor}>
        <Actor event={event} />
      </Fact>
      {outcome !== 'success' && <Fact name={words.outcome}>{history.outcomes[outcome]}</Fact>}
      {reason !== undefined && (
        <Fact name={words.reason}>
          <Safe text={reason} />
        </Fact>
      )}
      {reason === undefined && event.actor.kind === 'token' && REASONED.has(event.category) && (
        <Fact name={words.reason}>
          <span className="muted">{words.noReason}</span>
        </Fact>
      )}
      {type === 'AuthenticationRefused' && <Refusal event={event} />}
      <TextFact name={words.type} text={version === 1 ? type : `${type} v${version}`} />
      <TextFact name={words.stream} text={stream} />
      <Fact name={words.revision}>{revision}</Fact>
      <TextFact name={words.command} text={event.command} />
      <TextFact name={words.route} text={event.route} />
      <TextFact name={words.request} text={event.requestId} />
      <TextFact name={words.correlation} text={event.correlationId} />
      <TextFact name={words.cause} text={event.causationId} />
      <TextFact name={words.instance} text={event.instance} />
    </dl>
  )
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
    <Facts event={event} />
    <PersonalData event={event} />
    <Json event={event} />
    <EventActions event={event} />
  </div>
)
