import { refuse } from '../../base/errors.ts'
import { changed, changes, replaced, without } from '../../events/change.ts'
import type { Variant } from '../../events/flag.ts'
import { type Decide, type Evolve, type Flag, lives, naming, noFlag, type OfFlag } from './state.ts'

export type VariantCommands = {
  AddVariant: OfFlag & { readonly variant: Variant }
  UpdateVariant: OfFlag & { readonly variant: Variant }
  RemoveVariant: OfFlag & { readonly id: string }
}

const unique = ({ variants }: Flag, { id, key }: Variant, of: OfFlag): void => {
  if (variants.some((other) => other.key === key && other.id !== id))
    refuse('not_unique', `variant "${key}" is not unique for flag "${of.namespace}/${of.key}"`)
}

export const decideVariants: Decide<VariantCommands> = {
  AddVariant: (flag, { variant, ...of }) => {
    if (!lives(flag, of)) return noFlag(of)
    unique(flag, variant, of)
    return flag.variants.some(({ id }) => id === variant.id)
      ? []
      : [{ type: 'VariantAdded', data: { ...naming(of), variant } }]
  },

  UpdateVariant: (flag, { variant, ...of }) => {
    const present = flag.variants.find(({ id }) => id === variant.id)
    if (!present) return refuse('not_found', `variant "${variant.id}" not found`)
    unique(flag, variant, of)
    const found = changes<Omit<Variant, 'id'>>(present, variant)
    return found ? [{ type: 'VariantUpdated', data: { ...naming(of), variant: { id: variant.id, ...found } } }] : []
  },

  RemoveVariant: ({ variants, rules, defaultVariantId }, { id, ...of }) => {
    if (!variants.some((variant) => variant.id === id)) return []
    const distributions = rules.flatMap((rule) =>
      rule.distributions
        .filter(({ variantId }) => variantId === id)
        .map((part) => ({ rule: rule.id, distribution: part.id })),
    )
    return [
      {
        type: 'VariantRemoved',
        data: { ...naming(of), variant: id, wasDefault: defaultVariantId === id, distributions },
      },
    ]
  },
}

export const evolveVariants: Evolve<'VariantAdded' | 'VariantUpdated' | 'VariantRemoved'> = {
  VariantAdded: (flag, { variant }) => ({ ...flag, variants: [...flag.variants, variant] }),
  VariantUpdated: (flag, { variant }) => ({
    ...flag,
    variants: replaced(flag.variants, variant.id, (part) => changed(part, variant)),
  }),
  VariantRemoved: ({ defaultVariantId, ...flag }, { variant }) => ({
    ...flag,
    ...(defaultVariantId === undefined || defaultVariantId === variant ? {} : { defaultVariantId }),
    variants: without(flag.variants, variant),
    rules: flag.rules.map((rule) => ({
      ...rule,
      distributions: rule.distributions.filter(({ variantId }) => variantId !== variant),
    })),
  }),
}
