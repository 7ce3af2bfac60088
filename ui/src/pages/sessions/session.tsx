import { PeopleIcon, SearchIcon, SignOutIcon } from '@primer/octicons-react'
import { getRouteApi } from '@tanstack/react-router'
import { useState } from 'react'
import { EVERY } from '../../api/access.ts'
import type { Authentication } from '../../api/tokens.ts'
import { holderIn, identityOf } from '../../identity.ts'
import { AccessWords, Grants } from '../../parts/access-words.tsx'
import { Button } from '../../parts/button.tsx'
import { Facts, Metadata } from '../../parts/facts.tsx'
import { Safe } from '../../parts/feedback/safe.tsx'
import { LastUsed } from '../../parts/last-used.tsx'
import { StateBadge } from '../../parts/lists/state-badge.tsx'
import { zoneName } from '../../parts/moment.ts'
import { PageHead } from '../../parts/page.tsx'
import { RecordPage } from '../../parts/record-page.tsx'
import { Time } from '../../parts/time.tsx'
import { RecordHistory } from '../../parts/timeline/record-history.tsx'
import { usePreferences } from '../../preferences.ts'
import { useMissing, useWhyNot } from '../../why-not.ts'
import { past } from '../../words/past.ts'
import { sessions as words } from '../../words/sessions.ts'
import { type Ending, EndSessions } from './end.tsx'
import { searchedBy, useHow, Who } from './facts.tsx'
import { FindPerson } from './find-person.tsx'

const here = getRouteApi('/inside/settings/sessions/$id')

const READING = { right: 'token.read', namespaceKey: EVERY } as const

const SessionFacts = ({ record }: { readonly record: Authentication }) => {
  const { zone } = usePreferences()
  const how = useHow()(record)
  const { id, status, createdAt, expiresAt, deletedAt } = record
  return (
    <Facts
      label={words.facts}
      of={{
        [words.columns.who]: <Who record={record} />,
        [words.columns.how]: <Safe text={how} />,
        [words.columns.status]: <StateBadge status={status} />,
        [words.columns.access]: <AccessWords record={record} />,
        [words.columns.created(zoneName(zone))]: <Time instant={createdAt} />,
        [words.columns.seen]: <LastUsed record={record} />,
        [words.columns.ends]: <Time instant={expiresAt} />,
        [words.ended]: deletedAt === undefined ? undefined : <Time instant={deletedAt} />,
        [words.id]: <code>{id}</code>,
      }}
    />
  )
}

/** Page of a session with its metadata (ui.md §11.13). */
export const SessionPage = () => {
  const { id } = here.useParams()
  const { at } = here.useSearch()
  const why = useWhyNot(at, { right: 'token.revoke', namespaceKey: EVERY })
  const missing = useMissing()
  const [ending, setEnding] = useState<Ending | undefined>()
  const [finding, setFinding] = useState(false)
  return (
    <RecordPage id={id} at={at} words={words}>
      {(record) => {
        const [name, all, person] = [identityOf(record), holderIn(record), searchedBy(record)]
        return (
          <>
            <PageHead heading={<Safe text={name} />} title={[name, words.heading]}>
              {record.status === 'ACTIVE' && (
                <Button why={why} onClick={() => setEnding({ record })}>
                  <SignOutIcon />
                  <Safe text={words.endOne(name)} />
                </Button>
              )}
              <Button
                look="danger"
                why={why ?? (all ? undefined : words.noHolder)}
                onClick={() => all && setEnding({ record, all })}
              >
                <PeopleIcon />
                <Safe text={words.endAll(name)} />
              </Button>
            </PageHead>
            <div className="stack">
              <SessionFacts record={record} />
              <Grants record={record} />
              {person !== undefined && (
                <div>
                  <Button why={at === undefined ? missing(READING) : past.why} onClick={() => setFinding(true)}>
                    <SearchIcon />
                    {words.find.others}
                  </Button>
                </div>
              )}
              <Metadata heading={words.metadata} none={words.noMetadata} pairs={record.metadata} />
              <RecordHistory id={id} />
            </div>
            {finding && <FindPerson begin={person ?? ''} onClose={() => setFinding(false)} />}
            {ending && <EndSessions ending={ending} onClose={() => setEnding(undefined)} />}
          </>
        )
      }}
    </RecordPage>
  )
}
