import { PeopleIcon, SearchIcon, SignOutIcon } from '@primer/octicons-react'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { useState } from 'react'
import { EVERY } from '../../api/access.ts'
import { keys } from '../../api/keys.ts'
import { readMethods } from '../../api/methods.ts'
import { type Authentication, readTokens } from '../../api/tokens.ts'
import { holderIn, identityOf } from '../../identity.ts'
import { loginMethods } from '../../login-methods.ts'
import { AccessWords } from '../../parts/access-words.tsx'
import { Button, IconButton } from '../../parts/button.tsx'
import { Safe } from '../../parts/feedback/safe.tsx'
import { Select } from '../../parts/fields/field.tsx'
import { LastUsed } from '../../parts/last-used.tsx'
import { List } from '../../parts/lists/list.tsx'
import { useListAddress } from '../../parts/lists/paging.ts'
import { StateBadge } from '../../parts/lists/state-badge.tsx'
import type { Column } from '../../parts/lists/table.tsx'
import { useListRead } from '../../parts/lists/use-list-read.ts'
import { zoneName } from '../../parts/moment.ts'
import { Time } from '../../parts/time.tsx'
import { usePreferences } from '../../preferences.ts'
import { useMissing, useWhyNot } from '../../why-not.ts'
import { methodWords } from '../../words/methods.ts'
import { past } from '../../words/past.ts'
import { sessions as words } from '../../words/sessions.ts'
import { tokens } from '../../words/tokens.ts'
import { type Ending, EndSessions } from './end.tsx'
import { useHow, Who } from './facts.tsx'
import { FindPerson } from './find-person.tsx'

const here = getRouteApi('/inside/settings/sessions')
const statuses = Object.entries(tokens.statuses).map(([value, label]) => ({ value, label }))

type Acting = { readonly end: (ending: Ending) => void; readonly why: string | undefined }

const columnsOf = (
  zone: string,
  howOf: (record: Authentication) => string,
  { end, why }: Acting,
): readonly Column<Authentication>[] => [
  { key: 'who', head: words.columns.who, cell: (row) => <Who record={row} linked /> },
  { key: 'how', head: words.columns.how, cell: (row) => <Safe text={howOf(row)} /> },
  {
    key: 'status',
    head: words.columns.status,
    cell: ({ status }) => (
      <span>
        <StateBadge status={status} />
      </span>
    ),
  },
  {
    key: 'access',
    head: words.columns.access,
    cell: (row) => (
      <span>
        <AccessWords record={row} />
      </span>
    ),
  },
  {
    key: 'created',
    head: words.columns.created(zone),
    label: words.columns.createdLabel,
    cell: ({ createdAt }) => <Time instant={createdAt} />,
  },
  {
    key: 'seen',
    head: words.columns.seen,
    cell: (row) => <LastUsed record={row} />,
  },
  { key: 'ends', head: words.columns.ends, cell: ({ expiresAt }) => <Time instant={expiresAt} /> },
  {
    key: 'actions',
    head: <span className="visually-hidden">{words.columns.actions}</span>,
    label: '',
    cell: (row) => {
      if (row.status !== 'ACTIVE') return null
      const [name, all] = [identityOf(row), holderIn(row)]
      return (
        <span className="row-actions">
          <IconButton name={words.endOne(name)} icon={<SignOutIcon />} why={why} onClick={() => end({ record: row })} />
          <IconButton
            name={words.endAll(name)}
            icon={<PeopleIcon />}
            why={why ?? (all ? undefined : words.noHolder)}
            onClick={() => all && end({ record: row, all })}
          />
        </span>
      )
    },
  },
]

/** Settings › Sessions: list of sessions and their providers (ui.md §11.13). */
export const Sessions = () => {
  const search = here.useSearch()
  const { q = '', page, at } = search
  const address = useListAddress(search)
  const { zone } = usePreferences()
  const why = useWhyNot(at, { right: 'token.revoke', namespaceKey: EVERY })
  const howOf = useHow()
  const missing = useMissing()
  const [ending, setEnding] = useState<Ending | undefined>()
  const [finding, setFinding] = useState(false)
  const ways = useQuery({ queryKey: keys.methods, queryFn: ({ signal }) => readMethods(signal) })
  const kinds = ways.data?.sessions ?? []
  const methods = [
    { value: '', label: words.allMethods },
    ...kinds.map(({ method, wireName }) => ({ value: wireName, label: methodWords[method].session })),
  ]
  const method = methods.find(({ value }) => value === search.method)?.value ?? ''
  const status = statuses.find(({ value }) => value === search.status)?.value ?? ''
  const isOfLogins = kinds.some((kind) => kind.wireName === method && loginMethods[kind.method].isLogin)
  const filter = { kind: 'session', q, status, method, page, at } as const
  const known = search.method === undefined || ways.data !== undefined
  const read = useListRead(keys.tokens, filter, readTokens, known)
  return (
    <>
      <List
        words={words}
        read={{ ...read, rows: read.page?.authentications ?? [] }}
        address={address}
        q={q}
        filtered={status !== '' || method !== ''}
        cleared={{ status: '', method: '' }}
        filters={
          <>
            <Select
              label={words.method}
              hiddenLabel
              value={method}
              options={methods}
              onChange={(value) => address.filter({ method: value })}
            />
            <Select
              label={tokens.status}
              hiddenLabel
              value={status}
              options={statuses}
              onChange={(value) => address.filter({ status: value })}
            />
          </>
        }
        create={
          <Button
            why={at === undefined ? missing({ right: 'token.read', namespaceKey: EVERY }) : past.why}
            onClick={() => setFinding(true)}
          >
            <SearchIcon />
            {words.find.open}
          </Button>
        }
        nothing={<p>{words.noneWhy}</p>}
        table={{
          columns: columnsOf(zoneName(zone), howOf, { end: setEnding, why }),
          rowKey: ({ id }) => id,
          heads: 'who',
        }}
      >
        {q !== '' && <p className="hint">{isOfLogins ? words.whole : words.unsearched}</p>}
      </List>
      {finding && <FindPerson onClose={() => setFinding(false)} />}
      {ending && <EndSessions ending={ending} onClose={() => setEnding(undefined)} />}
    </>
  )
}
