import { TrashIcon } from '@primer/octicons-react'
import { getRouteApi } from '@tanstack/react-router'
import { useState } from 'react'
import { removalOf } from '../../api/access.ts'
import { type Authentication, nameOf } from '../../api/tokens.ts'
import { methodOf } from '../../login-methods.ts'
import { metadataOf } from '../../metadata.ts'
import { Button } from '../../parts/button.tsx'
import { Fact, Metadata } from '../../parts/facts.tsx'
import { Safe } from '../../parts/feedback/safe.tsx'
import { LastUsed } from '../../parts/last-used.tsx'
import { zoneName } from '../../parts/moment.ts'
import { PageHead } from '../../parts/page.tsx'
import { RecordPage } from '../../parts/record-page.tsx'
import { Time } from '../../parts/time.tsx'
import { usePreferences } from '../../preferences.ts'
import { useMissing, useWhyNot } from '../../why-not.ts'
import { tokens as words } from '../../words/tokens.ts'
import { AccessWords, Grants, StatusBadge } from './facts.tsx'
import { Maker } from './maker.tsx'
import { RemoveTokens } from './remove.tsx'

const here = getRouteApi('/inside/settings/tokens/$id')

/** Timeline of a token. */
const Life = ({ record }: { readonly record: Authentication }) => {
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

const Facts = ({ record }: { readonly record: Authentication }) => {
  const description = metadataOf(record, 'token.description')
  return (
    <dl className="about-list" aria-label={words.facts}>
      <Fact name={words.columns.status}>
        <StatusBadge record={record} />
      </Fact>
      <Fact name={words.columns.access}>
        <AccessWords record={record} />
      </Fact>
      {description !== undefined && (
        <Fact name={words.description}>
          <Safe text={description} />
        </Fact>
      )}
      <Fact name={words.maker}>
        <Maker record={record} />
      </Fact>
      <Fact name={words.id}>
        <code>{record.id}</code>
      </Fact>
    </dl>
  )
}

/** Metadata of a token without the entries that the page shows elsewhere. */
const ownPairs = ({ metadata }: Authentication) =>
  Object.fromEntries(Object.entries(metadata).filter(([key]) => !/\.token\.(?:name|description|namespace)$/.test(key)))

/** Page of a static token, also if deleted (ui.md §11.12). */
export const TokenPage = () => {
  const { id } = here.useParams()
  const { at } = here.useSearch()
  const why = useWhyNot(at)
  const missing = useMissing()
  const [removing, setRemoving] = useState(false)
  return (
    <RecordPage id={id} at={at} words={words} fits={(record) => methodOf(record) === 'token'}>
      {(record) => (
        <>
          <PageHead heading={<Safe text={nameOf(record)} />} title={[nameOf(record), words.heading]}>
            {record.status !== 'DELETED' && (
              <Button look="danger" why={why ?? missing(removalOf(record))} onClick={() => setRemoving(true)}>
                <TrashIcon />
                {words.remove.submit}
              </Button>
            )}
          </PageHead>
          <div className="stack">
            <Life record={record} />
            <Facts record={record} />
            <Grants record={record} />
            <Metadata heading={words.metadata} none={words.noMetadata} pairs={ownPairs(record)} />
          </div>
          {removing && <RemoveTokens records={[record]} onClose={() => setRemoving(false)} />}
        </>
      )}
    </RecordPage>
  )
}
