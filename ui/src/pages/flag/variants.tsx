import { PlusIcon, TrashIcon } from '@primer/octicons-react'
import { useState } from 'react'
import { Button, IconButton } from '../../parts/button.tsx'
import { Code } from '../../parts/code.tsx'
import type { Flaws } from '../../parts/editing/editing.ts'
import type { ChangeDraft } from '../../parts/editing/use-draft.ts'
import { CodeText, Safe } from '../../parts/feedback/safe.tsx'
import { useFocusLater } from '../../parts/focus-later.ts'
import { type Column, Table } from '../../parts/lists/table.tsx'
import { variant as words } from '../../words/variant.ts'
import { type Draft, freshId, freshVariant, type VariantDraft } from './draft.ts'
import { RemoveVariant, usesOf, withoutVariant } from './remove-variant.tsx'
import { VariantEditor } from './variant-editor.tsx'

const SHORT = 120
/** Shortens an attachment. */
const begun = (text: string): string => (text.length > SHORT ? `${text.slice(0, SHORT)}…` : text)
const named = ({ key }: VariantDraft): string => (key === '' ? words.nameless : key)

type Given = {
  readonly draft: Draft
  readonly flaws: Flaws
  readonly why: string | undefined
  readonly change: ChangeDraft<Draft>
  /** Id of the variant whose editor is open. */
  readonly opened: string | undefined
  readonly onOpen: (id: string | undefined) => void
}

/** Actions of a variant. */
const Acts = ({
  variant,
  open,
  why,
  onOpen,
  onRemove,
}: {
  readonly variant: VariantDraft
  readonly open: boolean
  readonly why: string | undefined
  readonly onOpen: () => void
  readonly onRemove: () => void
}) => {
  const name = named(variant)
  return (
    <span className="row-actions" data-part={variant.id}>
      <Button
        aria-label={why === undefined ? words.edit(name) : words.show(name)}
        aria-expanded={open}
        data-act="edit"
        onClick={onOpen}
      >
        {why === undefined ? words.short.edit : words.short.show}
      </Button>
      <IconButton name={words.drop(name)} icon={<TrashIcon />} why={why} onClick={onRemove} />
    </span>
  )
}

const columnsOf = (
  { draft: { defaultVariant }, opened, onOpen, why }: Given,
  onRemove: (variant: VariantDraft) => void,
): readonly Column<VariantDraft>[] => [
  {
    key: 'key',
    head: words.fields.key,
    cell: ({ id, key }) => (
      <span className="bar described">
        <Safe text={key} />
        {id === defaultVariant && <span className="badge bare">{words.default}</span>}
      </span>
    ),
  },
  ...(['name', 'description'] as const).map((field) => ({
    key: field,
    head: words.fields[field],
    cell: (variant: VariantDraft) => (
      <span className="described">
        <Safe text={variant[field]} />
      </span>
    ),
  })),
  {
    key: 'attachment',
    head: words.fields.attachment,
    cell: ({ attachment }) => <CodeText look="described" text={begun(attachment)} />,
  },
  {
    key: 'actions',
    head: <span className="visually-hidden">{words.actions}</span>,
    cell: (variant) => (
      <Acts
        variant={variant}
        open={opened === variant.id}
        why={why}
        onOpen={() => onOpen(opened === variant.id ? undefined : variant.id)}
        onRemove={() => onRemove(variant)}
      />
    ),
  },
]

/** Table of the variants of a flag, each edited below its row. */
export const Variants = (given: Given) => {
  const { draft, flaws, why, change, opened, onOpen } = given
  const { variants } = draft
  const [removing, setRemoving] = useState<VariantDraft | undefined>()
  const { list, focusLater } = useFocusLater()
  const remove = ({ id }: VariantDraft) => {
    const next = variants[variants.findIndex((variant) => variant.id === id) + 1]
    setRemoving(undefined)
    change((before) => withoutVariant(before, id))
    focusLater(next?.id, 'edit')
  }
  const ask = (variant: VariantDraft) => {
    const { rules, isDefault } = usesOf(draft, variant.id)
    if (rules.length > 0 || isDefault) setRemoving(variant)
    else remove(variant)
  }
  const add = () => {
    const variant = freshVariant(freshId('variant', variants))
    change((before) => ({ variants: [...before.variants, variant] }))
    onOpen(variant.id)
  }
  const edit = (id: string, part: Partial<VariantDraft>) =>
    change((before) => ({
      variants: before.variants.map((variant) => (variant.id === id ? { ...variant, ...part } : variant)),
    }))
  const detail = (variant: VariantDraft) => {
    if (opened !== variant.id) return null
    return why === undefined ? (
      <VariantEditor
        variant={variant}
        fresh={variant.key === ''}
        flaws={flaws}
        onChange={(part) => edit(variant.id, part)}
      />
    ) : (
      <Code label={words.attachmentOf(named(variant))} text={variant.attachment} />
    )
  }
  return (
    <section className="stack" ref={list}>
      <h2 tabIndex={-1}>{words.many}</h2>
      {variants.length === 0 ? (
        <p className="muted">{words.none}</p>
      ) : (
        <Table
          name={words.many}
          columns={columnsOf(given, ask)}
          rows={variants}
          rowKey={({ id }) => id}
          heads="key"
          detail={detail}
        />
      )}
      <div>
        <Button why={why} onClick={add}>
          <PlusIcon />
          {words.add}
        </Button>
      </div>
      {removing && (
        <RemoveVariant
          draft={draft}
          variant={removing}
          onClose={() => setRemoving(undefined)}
          onRemove={() => remove(removing)}
        />
      )}
    </section>
  )
}
