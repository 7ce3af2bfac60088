import { counted } from './common.ts'

const named = (namespace: string, key: string): string => `${namespace}/${key}`

/** Texts of copying a flag to another namespace. */
export const copying = {
  open: 'Copy to namespace…',
  title: (key: string) => `Copy flag ${key}`,
  about: 'The copy is created switched off. Its variants, rules and rollouts then stand in a draft to review and save.',
  namespace: 'Namespace',
  namespaceMissing: 'Choose a namespace.',
  key: 'Key',
  submit: 'Copy',
  sending: 'Looking…',
  taken: (namespace: string, key: string) => `There is a flag ${key} in ${namespace}.`,
  takenWhy: 'Choose another key, or put this state into a draft of that flag. Nothing is saved before you review it.',
  change: (key: string) => `Change flag ${key}`,

  heading: (key: string, namespace: string) => `Copy flag ${key} to ${namespace}`,
  why: (from: string, key: string, namespace: string, own: string) =>
    `There is no flag ${own} in ${namespace}. The flag ${named(from, key)} is copied in two steps.`,
  first: 'Create it here, with its name and description. It is off until you save its state.',
  reason: (namespace: string, key: string) => `Copied from ${named(namespace, key)}`,
  region: 'Copied state',
  draft: (namespace: string, key: string, changes: number) =>
    `${counted(changes, 'change copies', 'changes copy')} the flag ${named(namespace, key)}. Nothing is saved yet: review and save.`,
  equal: (namespace: string, key: string) => `This flag is as ${named(namespace, key)} is. There is nothing to copy.`,
  segment: (key: string, namespace: string) =>
    `There is no segment ${key} in ${namespace}: create it there, then copy again.`,
  failed: 'The flag was not copied',
  noSource: (namespace: string, key: string) => `There is no flag ${named(namespace, key)}.`,
}
