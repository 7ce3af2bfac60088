import { counted } from './common.ts'

const flags = (n: number) => counted(n, 'flag', 'flags')

export const namespaces = {
  things: 'namespaces',
  thing: 'namespace',
  heading: 'Namespaces',
  table: 'Namespaces',
  search: 'Search namespaces',
  create: 'New namespace',
  columns: {
    namespace: 'Namespace',
    description: 'Description',
    flags: 'Flags',
    segments: 'Segments',
    fetched: 'Fetched by engines',
    created: (zone: string) => `Created (${zone})`,
    createdLabel: 'Created',
    actions: 'Actions',
  },
  none: 'No namespaces yet',
  noneWhy: 'A namespace holds flags and segments of its own, such as those of one team.',
  noMatch: 'No namespaces match',
  protected: 'Protected: it cannot be deleted.',
  edit: (name: string) => `Edit ${name}`,
  delete: (name: string) => `Delete ${name}`,
  taken: 'This key is taken.',

  form: {
    submit: 'Create namespace',
    sending: 'Creating…',
    failed: 'The namespace was not created',
    created: (key: string) => `Namespace ${key} created.`,
  },
  change: {
    submit: 'Save changes',
    sending: 'Saving…',
    saved: (key: string) => `Namespace ${key} changed.`,
    name: 'Name',
    description: 'Description',
  },
  remove: {
    title: (key: string) => `Delete namespace ${key}?`,
    empty: (segments: number) =>
      segments === 0
        ? 'It has no flags.'
        : `It has no flags. Its ${counted(segments, 'segment goes', 'segments go')} with it.`,
    lastFetched: 'Engines last fetched it',
    submit: 'Delete namespace',
    titleWithFlags: (key: string, n: number) => `Namespace ${key} still has ${flags(n)}`,
    withFlags: 'Delete them first, or delete everything:',
    confirm: (n: number) => `Type the key to delete the namespace and its ${flags(n)}`,
    submitAll: 'Delete namespace and flags',
    failed: 'The namespace was not deleted',
    done: (key: string) => `Namespace ${key} deleted.`,
  },
}
