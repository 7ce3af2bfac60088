import { Button } from '../../parts/button.tsx'
import { Actions, Ask } from '../../parts/feedback/dialog.tsx'
import { Safe } from '../../parts/feedback/safe.tsx'
import { variant } from '../../words/variant.ts'
import type { Draft, VariantDraft } from './draft.ts'

const words = variant.remove

/** Uses of a variant in a draft: the numbers of its rules, and whether it is the default. */
export const usesOf = ({ rules, defaultVariant }: Draft, id: string) => ({
  rules: rules.flatMap(({ shares }, n) => (shares.some((share) => share.variant === id) ? [n + 1] : [])),
  isDefault: defaultVariant === id,
})

/** Removes a variant and its uses from a draft. */
export const withoutVariant = (
  { variants, rules, defaultVariant }: Draft,
  id: string,
): Pick<Draft, 'variants' | 'rules' | 'defaultVariant'> => ({
  variants: variants.filter((other) => other.id !== id),
  rules: rules.map((rule) => ({ ...rule, shares: rule.shares.filter(({ variant }) => variant !== id) })),
  defaultVariant: defaultVariant === id ? '' : defaultVariant,
})

/** Asks for confirmation before a used variant is removed, and lists its uses. */
export const RemoveVariant = ({
  draft,
  variant: { id, key },
  onClose,
  onRemove,
}: {
  readonly draft: Draft
  readonly variant: VariantDraft
  readonly onClose: () => void
  readonly onRemove: () => void
}) => {
  const { rules, isDefault } = usesOf(draft, id)
  return (
    <Ask title={<Safe text={words.title(key)} />} open onClose={onClose}>
      {rules.length > 0 && <p>{words.rules(rules)}</p>}
      {isDefault && <p>{words.default}</p>}
      <p className="muted">{words.draft}</p>
      <Actions>
        <Button onClick={onClose}>{words.cancel}</Button>
        <Button look="danger" onClick={onRemove}>
          {words.submit}
        </Button>
      </Actions>
    </Ask>
  )
}
