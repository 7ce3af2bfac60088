import { PencilIcon, PlusIcon, TrashIcon } from '@primer/octicons-react'
import { getRouteApi, Link } from '@tanstack/react-router'
import { type FormEvent, useState } from 'react'
import { EVERY, type Needed } from '../../api/access.ts'
import { keys } from '../../api/keys.ts'
import { type ListedNamespace, type Namespace, namespaceCreation, readNamespaces } from '../../api/namespaces.ts'
import { Button, IconButton } from '../../parts/button.tsx'
import { Dialog } from '../../parts/feedback/dialog.tsx'
import { CodeText, Safe } from '../../parts/feedback/safe.tsx'
import { useSay } from '../../parts/feedback/status.tsx'
import { useNamedForm } from '../../parts/fields/named-form.tsx'
import { List } from '../../parts/lists/list.tsx'
import { useListAddress } from '../../parts/lists/paging.ts'
import type { Column } from '../../parts/lists/table.tsx'
import { useListRead } from '../../parts/lists/use-list-read.ts'
import { zoneName } from '../../parts/moment.ts'
import { Time } from '../../parts/time.tsx'
import { usePreferences } from '../../preferences.ts'
import { useMissing, useWhyNot } from '../../why-not.ts'
import { common, number } from '../../words/common.ts'
import { namespaces as words } from '../../words/namespaces.ts'
import { DeleteNamespace } from './delete-namespace.tsx'
import { EditNamespace } from './edit-namespace.tsx'
import { NamespaceForm } from './namespace-form.tsx'

/** Dialog that creates a namespace. */
const NewNamespace = ({ onClose }: { readonly onClose: () => void }) => {
  const form = useNamedForm(words.thing, words.taken)
  const say = useSay()
  const submit = async (event: FormEvent) => {
    const outcome = await form.submit<Namespace>(event, namespaceCreation)
    if (!outcome?.done) return
    say(words.form.created(outcome.value.key))
    onClose()
  }
  return (
    <Dialog title={words.create} open onClose={onClose}>
      <NamespaceForm form={form} words={words.form} onSubmit={submit} onClose={onClose} />
    </Dialog>
  )
}

const CREATION = { right: 'namespace.create', namespaceKey: EVERY } as const
/** The read rights are needed because the dialog shows how many flags and segments are deleted. */
const deletionOf = (namespaceKey: string): readonly Needed[] => [
  { right: 'namespace.delete', namespaceKey: EVERY },
  { right: 'flag.read', namespaceKey },
  { right: 'segment.read', namespaceKey },
]

const here = getRouteApi('/inside/settings/namespaces')

/** Open dialog and its namespace. */
type Act = { readonly kind: 'create' } | { readonly kind: 'edit' | 'delete'; readonly of: ListedNamespace }

const columnsOf = (
  zone: string,
  { why, missing }: { readonly why: string | undefined; readonly missing: ReturnType<typeof useMissing> },
  act: (act: Act) => void,
): readonly Column<ListedNamespace>[] => [
  {
    key: 'namespace',
    head: words.columns.namespace,
    cell: ({ key, name, protected: kept }) => (
      <>
        <Link to="/ns/$ns/flags" params={{ ns: key }}>
          <Safe text={name} />
        </Link>
        <CodeText look="key" text={key} />
        {kept && <span className="muted small">{words.protected}</span>}
      </>
    ),
  },
  {
    key: 'description',
    head: words.columns.description,
    cell: ({ description }) => (
      <span className="described">
        <Safe text={description} />
      </span>
    ),
  },
  { key: 'flags', head: words.columns.flags, cell: ({ flagCount = 0 }) => number(flagCount) },
  { key: 'segments', head: words.columns.segments, cell: ({ segmentCount = 0 }) => number(segmentCount) },
  {
    key: 'fetched',
    head: words.columns.fetched,
    cell: ({ snapshotFetchedAt }) => <Time instant={snapshotFetchedAt} toHour absent={common.notKnown} />,
  },
  {
    key: 'created',
    head: words.columns.created(zone),
    label: words.columns.createdLabel,
    cell: ({ createdAt }) => <Time instant={createdAt} />,
  },
  {
    key: 'actions',
    head: <span className="visually-hidden">{words.columns.actions}</span>,
    label: '',
    cell: (row) => (
      <span className="row-actions">
        <IconButton
          name={words.edit(row.name)}
          icon={<PencilIcon />}
          why={why ?? missing({ right: 'namespace.update', namespaceKey: row.key })}
          onClick={() => act({ kind: 'edit', of: row })}
        />
        <IconButton
          name={words.delete(row.name)}
          icon={<TrashIcon />}
          why={why ?? missing(...deletionOf(row.key)) ?? (row.protected ? words.protected : undefined)}
          onClick={() => act({ kind: 'delete', of: row })}
        />
      </span>
    ),
  },
]

/** Settings › Namespaces: list, creation, editing and deletion (ui.md §11.14). */
export const Namespaces = () => {
  const search = here.useSearch()
  const { q = '', page, at } = search
  const address = useListAddress(search)
  const { zone } = usePreferences()
  const why = useWhyNot(at)
  const missing = useMissing()
  const [acting, setActing] = useState<Act | undefined>()
  const asked = { q, sort: 'name', include: 'usage', page, at } as const
  const read = useListRead(keys.namespaces, asked, readNamespaces)
  const close = () => setActing(undefined)
  return (
    <>
      <List
        words={words}
        read={{ ...read, rows: read.page?.namespaces ?? [] }}
        address={address}
        q={q}
        create={
          <Button
            look="primary"
            why={why ?? missing(CREATION)}
            onClick={() => setActing({ kind: 'create' })}
            aria-keyshortcuts="n"
          >
            <PlusIcon />
            {words.create}
          </Button>
        }
        nothing={<p>{words.noneWhy}</p>}
        table={{
          columns: columnsOf(zoneName(zone), { why, missing }, setActing),
          rowKey: ({ key }) => key,
          heads: 'namespace',
        }}
      />
      {acting?.kind === 'create' && <NewNamespace onClose={close} />}
      {acting?.kind === 'edit' && <EditNamespace namespace={acting.of} onClose={close} />}
      {acting?.kind === 'delete' && <DeleteNamespace namespace={acting.of} onClose={close} />}
    </>
  )
}
