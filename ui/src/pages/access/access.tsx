import { DownloadIcon } from '@primer/octicons-react'
import { getRouteApi, Link } from '@tanstack/react-router'
import { EVERY, useRoles } from '../../api/access.ts'
import { keys } from '../../api/keys.ts'
import { useKnownMoment } from '../../api/moments.ts'
import { type Reviewed, readReview, reviewFile } from '../../api/review.ts'
import { buttonClass } from '../../parts/button.tsx'
import { Safe } from '../../parts/feedback/safe.tsx'
import { Select } from '../../parts/fields/field.tsx'
import { NamespaceField } from '../../parts/fields/namespace-field.tsx'
import { Pager } from '../../parts/lists/pager.tsx'
import { useListAddress } from '../../parts/lists/paging.ts'
import { Empty, LoadFailed, Loading, StillLoading } from '../../parts/lists/states.tsx'
import { type Column, Table } from '../../parts/lists/table.tsx'
import { useListRead } from '../../parts/lists/use-list-read.ts'
import { instantWords } from '../../parts/moment.ts'
import { PageHead } from '../../parts/page.tsx'
import { RecordLink } from '../../parts/record-link.tsx'
import { usePreferences } from '../../preferences.ts'
import { states } from '../../words/common.ts'
import { review as words } from '../../words/review.ts'
import { Decision } from './decision.tsx'
import { TokenField } from './token-field.tsx'

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
const columnsOf = (namespaceKey: string): readonly Column<Reviewed>[] => [
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

const here = getRouteApi('/inside/access')
const FIRST = 'flag.update'

/** Rights of the service as options, and the one in the address if the service has it. */
const useRights = (asked: string | undefined) => {
  const { data, error, refetch } = useRoles()
  const rights = data?.rights ?? []
  const options = rights.map(({ name }) => ({ value: name, label: words.rightOption(name) }))
  const right = rights.find(({ name }) => name === asked) ?? rights.find(({ name }) => name === FIRST)
  return { options, right, error, refetch }
}

/** The moment in words, as the answers of the service state it; undefined for the present. */
const useMoment = (at: string | undefined): string | undefined => {
  const { zone } = usePreferences()
  const instant = useKnownMoment(at)?.instant
  if (at === undefined) return undefined
  return instant === undefined ? words.thatTime : words.at(instantWords(instant, zone, true))
}

type Search = ReturnType<(typeof here)['useSearch']>

/** Table of the tokens that have a right in a namespace. */
const Review = ({
  right,
  search,
  moment,
}: {
  readonly right: string
  readonly search: Search
  readonly moment: string | undefined
}) => {
  const { ns = EVERY, page, at } = search
  const address = useListAddress(search)
  const question = { right, namespaceKey: ns, at }
  const read = useListRead([...keys.tokens, 'review'], { ...question, page }, readReview)
  const { page: shown, error, isPlaceholderData: before } = read
  const failed = error !== null
  return (
    <section className="stack">
      <h2>
        <Safe text={words.who(right, ns, moment)} />
      </h2>
      {failed && <LoadFailed things={words.things} error={error} onRetry={() => void read.refetch()} />}
      {!shown && !failed && <Loading />}
      {before && !failed && <StillLoading />}
      {shown && (
        <>
          {shown.anonymous && <p className="alert warn">{words.anonymous}</p>}
          {shown.entries.length === 0 ? (
            <Empty title={words.none}>
              <p>{words.noneWhy}</p>
            </Empty>
          ) : (
            <div aria-busy={read.isFetching || undefined}>
              <p className="muted">{words.count(shown.totalCount, shown.totalCountExact !== false)}</p>
              <Table
                name={words.table}
                columns={columnsOf(ns)}
                rows={shown.entries}
                rowKey={({ authenticationId }) => authenticationId}
                heads="token"
              />
              <Pager
                onPrevious={address.previous}
                onNext={address.next(shown.nextPageToken)}
                why={failed && before ? states.notLoaded(words.things) : undefined}
              />
            </div>
          )}
        </>
      )}
    </section>
  )
}

/** Access: the tokens with a right in a namespace now or at a past moment, with the reason of each (ui.md §11.16). */
export const AccessPage = () => {
  const search = here.useSearch()
  const { ns = '', token = '', at } = search
  const moment = useMoment(at)
  const address = useListAddress(search)
  const { options, right, error, refetch } = useRights(search.right)
  const asked = right?.name ?? FIRST
  const question = { right: asked, namespaceKey: ns === '' ? EVERY : ns, at }
  return (
    <>
      <PageHead heading={words.heading} title={[words.heading]}>
        <a className={buttonClass()} href={reviewFile(question)} download>
          <DownloadIcon />
          {words.download}
        </a>
      </PageHead>
      <div className="filters labelled" role="group" aria-label={words.question}>
        <Select
          label={words.right}
          value={asked}
          options={options}
          onChange={(name) => address.filter({ right: name === FIRST ? '' : name })}
        />
        <NamespaceField
          label={words.namespace}
          value={ns}
          all={words.everywhere}
          onChange={(key) => address.filter({ ns: key })}
        />
        <TokenField value={token} at={at} onChange={(id) => address.filter({ token: id })} />
      </div>
      {error && <LoadFailed things={words.things} error={error} onRetry={() => void refetch()} />}
      {!right && !error && <Loading />}
      {right && (
        <div className="stack">
          {right.level === 'deployment' && ns !== '' && <p className="hint">{words.deployment}</p>}
          {right.level !== 'deployment' && ns === '' && <p className="hint">{words.everywhereOnly}</p>}
          {token !== '' && (
            <Decision
              id={token}
              question={{ right: asked, namespaceKey: ns === '' ? EVERY : ns, at }}
              moment={moment}
            />
          )}
          <Review right={asked} search={search} moment={moment} />
        </div>
      )}
    </>
  )
}
