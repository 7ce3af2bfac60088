import type { Draft } from './draft.ts'

/** Flag whose state is copied. */
export type Source = { readonly namespace: string; readonly key: string }

/** Flag in the address of a copy, `namespace/key`; undefined for any other text. */
export const sourceOf = (text: string | undefined): Source | undefined => {
  const [, namespace, key] = /^([^/]+)\/([^/]+)$/.exec(text ?? '') ?? []
  return namespace === undefined || key === undefined ? undefined : { namespace, key }
}

/**
 * The draft with the ids of the parts that the flag `now` has: variants by their key, rollouts of each kind and rules by
 * their order. Other parts are created.
 */
export const aligned = (draft: Draft, now: Draft): Draft => {
  const ids = new Map(draft.variants.map(({ id, key }) => [id, now.variants.find((one) => one.key === key)?.id ?? id]))
  const idOf = (id: string) => ids.get(id) ?? id
  const left = [...now.rollouts]
  return {
    ...draft,
    variants: draft.variants.map((variant) => ({ ...variant, id: idOf(variant.id) })),
    rollouts: draft.rollouts.map((rollout) => {
      const n = left.findIndex(({ kind }) => kind === rollout.kind)
      return n < 0 ? rollout : { ...rollout, id: left.splice(n, 1)[0]!.id }
    }),
    rules: draft.rules.map((rule, n) => ({
      ...rule,
      id: now.rules[n]?.id ?? rule.id,
      shares: rule.shares.map((share) => ({ ...share, variant: idOf(share.variant) })),
    })),
    defaultVariant: idOf(draft.defaultVariant),
  }
}
