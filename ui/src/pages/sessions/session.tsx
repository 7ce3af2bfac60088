import { PeopleIcon, SignOutIcon } from '@primer/octicons-react'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { useState } from 'react'
import { EVERY } from '../../api/access.ts'
import { isFailure } from '../../api/failure.ts'
import { keys } from '../../api/keys.ts'
import { type Authentication, readToken } from '../../api/tokens.ts'
import { holderIn, identityOf } from '../../identity.ts'
import { Button } from '../../parts/button.tsx'
import { Fact, Metadata } from '../../parts/facts.tsx'
import { NotThere } from '../../parts/feedback/not-there.tsx'
import { Safe } from '../../parts/feedback/safe.tsx'
import { LastUsed } from '../../parts/last-used.tsx'
import { StateBadge } from '../../parts/lists/state-badge.tsx'
import { LoadFailed, Loading } from '../../parts/lists/states.tsx'
import { zoneName } from '../../parts/moment.ts'
import { PageHead } from '../../parts/page.tsx'
import { Time } from '../../parts/time.tsx'
import { usePreferences } from '../../preferences.ts'
import { useWhyNot } from '../../why-not.ts'
import { sessions as words } from '../../words/sessions.ts'
import { type Ending, EndSessions } from './end.tsx'
import { useHow, Who } from './facts.tsx'

const here = getRouteApi('/inside/settings/sessions/$id')

const Facts = ({ record }: { readonly record: Authentication }) => {
  const { zone } = usePreferences()
  const how = useHow()(record)
  const { id, status, createdAt, expiresAt, deletedAt } = record
  return (
    <dl className="about-list" aria-label={words.facts}>
      <Fact name={words.columns.who}>
        <Who record={record} />
      </Fact>
      <Fact name={words.columns.how}>
        <Safe text={how} />
      </Fact>
      <Fact name={words.columns.status}>
        <StateBadge status={status} />
      </Fact>
      <Fact name={words.columns.created(zoneName(zone))}>
        <Time instant={createdAt} />
      </Fact>
      <Fact name={words.columns.seen}>
        <LastUsed record={record} />
      </Fact>
      <Fact name={words.columns.ends}>
        <Time instant={expiresAt} />
      </Fact>
      {deletedAt !== undefined && (
        <Fact name={words.ended}>
          <Time instant={deletedAt} />
        </Fact>
      )}
      <Fact name={words.id}>
        <code>{id}</code>
      </Fact>
    </dl>
  )
}

/** Page of a session with its metadata (ui.md §11.13). */
export const SessionPage = () => {
  const { id } = here.useParams()
  const { at } = here.useSearch()
  const why = useWhyNot(at, { right: 'token.revoke', namespaceKey: EVERY })
  const [ending, setEnding] = useState<Ending | undefined>()
  const { data, error, refetch } = useQuery({
    queryKey: [...keys.tokens, 'one', id, at],
    queryFn: ({ signal }) => readToken(id, at, signal),
  })
  if (isFailure(error) && error.status === 404)
    return <NotThere thing={words.thing} heading={words.notFound} name={id} />
  if (!data)
    return (
      <>
        <PageHead heading={words.notFound} title={[words.heading]} />
        {error ? <LoadFailed things={words.things} error={error} onRetry={() => void refetch()} /> : <Loading />}
      </>
    )
  const [name, all] = [identityOf(data), holderIn(data)]
  return (
    <>
      <PageHead heading={<Safe text={name} />} title={[name, words.heading]}>
        {data.status === 'ACTIVE' && (
          <Button why={why} onClick={() => setEnding({ record: data })}>
            <SignOutIcon />
            <Safe text={words.endOne(name)} />
          </Button>
        )}
        <Button
          look="danger"
          why={why ?? (all ? undefined : words.noHolder)}
          onClick={() => all && setEnding({ record: data, all })}
        >
          <PeopleIcon />
          <Safe text={words.endAll(name)} />
        </Button>
      </PageHead>
      <div className="stack">
        <Facts record={data} />
        <Metadata heading={words.metadata} none={words.noMetadata} pairs={data.metadata} />
      </div>
      {ending && <EndSessions ending={ending} onClose={() => setEnding(undefined)} />}
    </>
  )
}
