import { TrashIcon } from '@primer/octicons-react'
import { getRouteApi, Link } from '@tanstack/react-router'
import { useState } from 'react'
import { EVERY, removalOf } from '../../api/access.ts'
import { type Authentication, nameOf } from '../../api/tokens.ts'
import { methodOf } from '../../login-methods.ts'
import { metadataOf } from '../../metadata.ts'
import { AccessWords, Grants } from '../../parts/access-words.tsx'
import { Button } from '../../parts/button.tsx'
import { Facts, Metadata } from '../../parts/facts.tsx'
import { Safe } from '../../parts/feedback/safe.tsx'
import { PageHead } from '../../parts/page.tsx'
import { RecordPage } from '../../parts/record-page.tsx'
import { RemoveRecords } from '../../parts/remove-records.tsx'
import { Gone } from '../../parts/timeline/gone.tsx'
import { RecordHistory } from '../../parts/timeline/record-history.tsx'
import { useMissing, useWhyNot } from '../../why-not.ts'
import { tokens as words } from '../../words/tokens.ts'
import { StatusBadge } from './facts.tsx'
import { Life, MadeTokens, useMakerAndEnder } from './life.tsx'

const here = getRouteApi('/inside/settings/tokens/$id')

const TokenFacts = ({ record }: { readonly record: Authentication }) => {
  const description = metadataOf(record, 'token.description')
  const facts = {
    [words.columns.status]: <StatusBadge record={record} />,
    [words.columns.access]: <AccessWords record={record} />,
    [words.description]: description === undefined ? undefined : <Safe text={description} />,
    ...useMakerAndEnder(record),
    [words.endsWith]: record.ending === undefined ? undefined : <code>{words.ending(record.ending)}</code>,
    [words.id]: <code>{record.id}</code>,
  }
  return <Facts label={words.facts} of={facts} />
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
            {record.status === 'DELETED' && <Gone filter={{ tokenId: id }} types="TokenRevoked,TokenExpired" />}
            <Life record={record} />
            <TokenFacts record={record} />
            <Grants record={record} />
            <MadeTokens id={id} at={at} />
            {missing({ right: 'audit.read', namespaceKey: EVERY }) === undefined && (
              <p>
                <Link to="/access" search={{ token: id }}>
                  {words.canIt}
                </Link>
              </p>
            )}
            <Metadata heading={words.metadata} none={words.noMetadata} pairs={ownPairs(record)} />
            <RecordHistory id={id} />
          </div>
          {removing && <RemoveRecords records={[record]} words={words.remove} onClose={() => setRemoving(false)} />}
        </>
      )}
    </RecordPage>
  )
}
