import type { constraintBody } from '../../contract/flags/constraint.ts'
import type { distributionBody } from '../../contract/flags/distribution.ts'
import type { newFlag } from '../../contract/flags/flag.ts'
import type { newRollout } from '../../contract/flags/rollout.ts'
import type { newRule } from '../../contract/flags/rule.ts'
import type { newSegment } from '../../contract/flags/segment.ts'
import type { variantBody } from '../../contract/flags/variant.ts'
import type { newNamespace } from '../../contract/namespace.ts'
import type { ReadBy } from '../../contract/readers/input.ts'

/** Body of a request as read from the document: every field that the request may have, unvalidated. */
type Fields<T> = { readonly [member in keyof T]: unknown }
export type GivenTo<I> = Fields<ReadBy<I>>
type Keyed<I> = Omit<GivenTo<I>, 'key'> & { readonly key: string | undefined }
/** A document refers to segments only by `segmentKeys`. */
type BySegments<T> = Omit<Fields<T>, 'segmentKey'>
type Ways = ReadBy<typeof newRollout>

/** Location of a part, and of its member with a name of the document. */
type Located = { readonly path: string; readonly at: (member: string) => string }
/** A part of a document: its location, and the body of the request that creates it. */
export type DocumentPart<B = object> = Located & { readonly body: B }

export type Share = Located & { readonly variant: string } & Omit<GivenTo<typeof distributionBody>, 'variantId'>
export type RulePart = DocumentPart<Omit<BySegments<ReadBy<typeof newRule>>, 'rank'>> & {
  readonly segments: readonly string[]
  readonly rank: unknown
  readonly shares: readonly Share[]
}
/** Rollouts are listed in the order of their ranks. */
type RolloutBody = Omit<Fields<Ways>, 'rank' | 'segment' | 'threshold'> & {
  readonly segment: BySegments<NonNullable<Ways['segment']>> | undefined
  readonly threshold: Fields<NonNullable<Ways['threshold']>> | undefined
}
export type RolloutPart = DocumentPart<RolloutBody> & { readonly segments: readonly string[] }
export type VariantPart = DocumentPart<Keyed<typeof variantBody>> & { readonly byDefault: boolean }
export type FlagPart = DocumentPart<Keyed<typeof newFlag>> & {
  readonly variants: readonly VariantPart[]
  readonly rules: readonly RulePart[]
  readonly rollouts: readonly RolloutPart[]
}
export type SegmentPart = DocumentPart<Keyed<typeof newSegment>> & {
  readonly constraints: readonly DocumentPart<GivenTo<typeof constraintBody>>[]
}
/** A name or description that the document does not state stays unchanged. */
type Stated = Readonly<Partial<Omit<ReadBy<typeof newNamespace>, 'key'>>>
export type NamespacePart = DocumentPart<Stated & { readonly key: string }>
export type Document = {
  readonly namespace: NamespacePart
  readonly flags: readonly FlagPart[]
  readonly segments: readonly SegmentPart[]
}
