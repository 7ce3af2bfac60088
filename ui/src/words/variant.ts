import { common, list, once } from './common.ts'
import { ordered } from './ordered.ts'

const either = once(() => new Intl.ListFormat('en', { type: 'disjunction' }))
const each = once(() => new Intl.ListFormat('en', { type: 'conjunction' }))

/** Formats the segments of a rollout or rule. */
export const segmentsNamed = (keys: readonly string[], all: boolean): string => (all ? each : either)().format(keys)

/** Texts of variants. */
export const variant = {
  many: 'Variants',
  none: 'It has no variants.',
  thing: 'variant',
  fields: { key: 'Key', name: 'Name', description: 'Description', attachment: 'Attachment' },
  field: (name: string, value: string) => `${name}: ${value === '' ? '–' : value}`,
  has: (fields: readonly string[]) => fields.join(' · '),
  keyHint: 'Programs receive this key.',
  attachmentHint: 'JSON that programs receive with it, exactly as written. Optional.',
  attachmentOf: (key: string) => `Attachment of ${key}`,
  attachmentLarge: 'At most 1,000 KB.',
  keyTaken: 'This key is taken in this flag.',
  actions: 'Actions',
  default: 'default',
  defaultVariant: 'Default variant',
  defaultHint: 'For entities that no rule matches, and for all entities while the flag is off.',
  left: (key: string) => `Variant ${key}`,
  defaultIs: (key: string) => `Default variant: ${key}`,
  noDefault: 'None',
  add: 'Add variant',
  nameless: 'new variant',
  edit: (key: string) => `Edit ${key}`,
  show: (key: string) => `Show ${key}`,
  drop: (key: string) => `Delete ${key}`,
  short: { edit: 'Edit', show: 'Show' },
  remove: {
    title: (key: string) => `Delete variant ${key}?`,
    rules: (rules: readonly number[]) =>
      rules.length === 1
        ? `Rule ${rules[0]} uses it: its weight is deleted too.`
        : `Rules ${each().format(rules.map(String))} use it: their weights are deleted too.`,
    default: 'It is the default variant: the flag then has no default.',
    draft: 'Nothing is deleted before the changes are saved.',
    submit: 'Delete variant',
    cancel: common.cancel,
  },
}

/** Texts of rules. */
export const rule = {
  ...ordered('rule', 'Rule', 'Rules', 'No entity matches: each gets the default variant, if there is one.'),
  weight: (key: string, percentage: string) => `${percentage} % ${key}`,
  sentence: (keys: readonly string[], all: boolean, weights: readonly string[]) =>
    `Segment ${segmentsNamed(keys, all)} → ${weights.length === 0 ? 'no variant' : list(weights)}`,
  gives: 'Gives',
  kinds: { one: 'One variant', weights: 'Weights' },
  variant: 'Variant',
  noVariants: 'There is no variant to give yet. Add one above.',
  weightOf: (key: string) => `Weight of ${key}`,
  weights: 'Weights',
  even: 'Even split',
  tooMuch: (percentage: number) => `The weights add up to ${percentage} %: at most 100.`,
  addRest: 'Add the rest',
  engines: 'Applications that evaluate by themselves give all entities to the variants with a weight.',
  remainder: (percentage: number) => `${percentage} % of the entities that match get no variant.`,
  effect: {
    place: (rule: number | undefined, alone: boolean) =>
      rule !== undefined ? `Rule ${rule}` : alone ? 'Every entity' : 'Otherwise',
    portion: (percentage: string, key: string | undefined, rest: boolean) =>
      key === undefined ? `${percentage} % no variant` : `${percentage} % ${rest ? `default ${key}` : key}`,
    even: 'All bars have the same length, because the number of matching entities is not known here.',
  },
  left: (key: string, sentence: string) => `Weight of ${key} in: ${sentence}`,
}
