import { shareInWords, stillTrue } from '../../../src/contract/answers.ts'
import { list } from './common.ts'
import { ordered } from './ordered.ts'
import { segmentsNamed } from './variant.ts'

export const flag = {
  thing: 'flag',
  title: 'Flag',
  revision: (revision: string) => `revision ${revision}`,
  tabs: { targeting: 'Targeting', about: 'About' },
  notFound: 'Flag',

  rollout: ordered('rollout', 'Rollout', 'Rollouts', 'Every entity gets the default.'),
  share: (percentage: string, value: boolean) => `${shareInWords(percentage)} of entities → ${value}`,
  segments: (keys: readonly string[], all: boolean, value: boolean) => `Segment ${segmentsNamed(keys, all)} → ${value}`,
  state: 'State',
  states: { false: 'Off', true: 'On' },
  stateIs: (on: boolean) => `State: ${on ? 'On' : 'Off'}`,

  appliesTo: 'Applies to',
  kinds: { threshold: 'A share of entities', segment: 'Segments' },
  percentage: 'Percentage',
  slider: 'Percentage slider',
  percent: (percentage: string) => `${percentage} %`,
  segment: 'Segment',
  chosen: 'Chosen segments',
  removeSegment: (key: string) => `Remove ${key}`,
  segmentMissing: 'Choose a segment.',
  noSegment: 'No segments match',
  openSegments: 'Open the list of segments',
  match: 'Match',
  matches: { any: 'Any of them', all: 'All of them' },
  answer: 'Answer',
  answers: { false: 'false', true: 'true' },
  description: 'Description',
  otherwise: 'Otherwise answer',
  otherwiseIs: (value: boolean) => `Otherwise answer: ${value}`,

  effect: 'Answers',
  portion: (percentage: string, value: boolean) => `${percentage} % ${value}`,
  rest: (percentage: string, value: boolean) => `${percentage} % default ${value}`,
  portions: (parts: readonly string[]) => parts.join(' · '),
  depends:
    'In the hatched part, an entity that is in a segment of an earlier rollout gets that rollout’s answer instead.',
  notAsked: 'Not evaluated: a rollout above answers everybody.',
  stillTrue,
  still: (rollouts: string) => `Default false, yet ${rollouts}.`,

  gets: {
    heading: (entity: string) =>
      `What does ${entity === '' ? 'an entity' : entity.length > 60 ? `${entity.slice(0, 60)}…` : entity} get?`,
    about: 'Evaluates one entity with this flag, as it is and with your changes. Nothing is written.',
    entity: 'Entity id',
    submit: 'Try this entity',
    sending: 'Trying…',
    failed: 'The entity was not tried',
    stale: 'The flag or the entity has changed since. Try it again.',
    moved: 'This flag was changed meanwhile. Save your changes to see both, or load the page again.',
    flawed: 'Your changes have a mistake. “Review changes” shows it.',
    stepsOf: (label: string) => `Steps: ${label}`,
  },
  before: 'Answers now',
  after: 'Answers after saving',

  change: {
    name: 'Name',
    description: 'Description',
    metadata: 'Metadata',
    answer: 'Otherwise answer',
    state: 'State',
    on: 'On',
    off: 'Off',
    rollout: {
      added: () => 'New rollout',
      removed: (n: number) => `Rollout ${n} deleted`,
      changed: (n: number) => `Rollout ${n}`,
      order: 'Order of the rollouts',
    },
    rule: {
      added: () => 'New rule',
      removed: (n: number) => `Rule ${n} deleted`,
      changed: (n: number) => `Rule ${n}`,
      order: 'Order of the rules',
    },
    variant: {
      added: (key: string) => `New variant ${key}`,
      removed: (key: string) => `Variant ${key} deleted`,
      changed: (key: string) => `Variant ${key}`,
    },
    defaultVariant: 'Default variant',
    noDefault: 'None',
    sequence: (sentences: readonly string[]) => list(sentences.map((sentence, n) => `${n + 1}. ${sentence}`)),
    described: (sentence: string, description: string) =>
      description === '' ? sentence : `${sentence} (${description})`,
  },

  about: {
    metadata: 'Metadata',
    metadataKey: (n: number) => `Key ${n}`,
    metadataType: (n: number) => `Type ${n}`,
    metadataValue: (n: number) => `Value ${n}`,
    types: { text: 'Text', number: 'Number', boolean: 'true or false', json: 'JSON' },
    addRow: 'Add metadata',
    removeRow: (n: number) => `Delete metadata ${n}`,
    none: 'None',
    precise: 'It contains a number that a browser cannot represent exactly. Change it with the command line.',
    keyMissing: 'Give it a key.',
    keyTwice: 'This key already exists.',
    number: 'Enter a number.',
    boolean: 'Enter true or false.',
  },

  menu: {
    open: 'More actions',
    copyKey: 'Copy key',
    copyLink: 'Copy link',
    copyCurl: 'Copy as curl',
    copyCommand: 'Copy as command line',
    evaluate: 'Evaluate',
    things: { key: 'key', link: 'link', command: 'command' },
    delete: 'Delete',
  },

  asked: {
    last: (time: string) => `Last asked ${time}.`,
    never: 'Not asked here.',
    engines: (time: string) => `Engines fetched this namespace ${time}.`,
    thisHour: 'within this hour',
    notKnown: 'Not known when it was last asked.',
  },

  remove: {
    open: 'Delete flag',
    title: (key: string) => `Delete flag ${key}?`,
    why: 'Programs that ask for it get “not found” at once. Its history is kept.',
    submit: 'Delete flag',
    done: (key: string) => `Flag ${key} deleted.`,
    failed: 'The flag was not deleted',
  },
}
