import type { Index } from './views.ts'

/** Searchable fields of token records. */
export const fields = [
  'digest',
  'fingerprint',
  'method',
  'namespace',
  'name',
  'createdAt',
  'expiresAt',
  'deletedAt',
  'identity',
  'provider',
  'subject',
  'issuedBy',
  'began',
  'ended',
  'changed',
  'changedBefore',
  'previousExpiry',
  'reach',
  'policy',
  'access',
  'fullUntil',
  'narrowed',
] as const

/** Indexes of token records. Most searches exclude deleted records, which soon are the majority. */
export const indexes: readonly Index[] = [
  { by: ['digest'] },
  { by: ['fingerprint'] },
  {
    by: ['reach'],
    lacking: 'deletedAt',
    also: [
      'access',
      'namespace',
      'createdAt',
      'expiresAt',
      'began',
      'changed',
      'changedBefore',
      'narrowed',
      'fullUntil',
    ],
  },
  { by: ['identity', 'deletedAt', 'createdAt'], also: ['provider', 'subject'] },
  { by: ['issuedBy', 'deletedAt', 'createdAt'] },
  { by: ['method', 'expiresAt'], lacking: 'deletedAt', also: ['createdAt', 'namespace'] },
  { by: ['expiresAt'], lacking: 'deletedAt', also: ['createdAt', 'namespace'] },
  { by: ['name'], lacking: 'deletedAt', also: ['createdAt', 'namespace', 'method', 'expiresAt'] },
  { by: ['namespace', 'createdAt'], lacking: 'deletedAt', also: ['method', 'expiresAt'] },
  { by: ['method', 'createdAt'], lacking: 'deletedAt', also: ['namespace', 'expiresAt'] },
  { by: ['access', 'createdAt'], having: 'fullUntil', also: ['fullUntil', 'deletedAt', 'ended', 'began'] },
  { by: ['access', 'createdAt'], lacking: 'deletedAt', also: ['method', 'namespace', 'expiresAt'] },
  { by: ['createdAt'], lacking: 'deletedAt', also: ['expiresAt', 'began', 'changed', 'changedBefore'] },
  {
    by: ['createdAt'],
    having: 'deletedAt',
    also: ['deletedAt', 'method', 'namespace', 'ended', 'began', 'expiresAt', 'changed', 'changedBefore'],
  },
  { by: ['createdAt'], having: 'changed', also: ['changed', 'changedBefore', 'previousExpiry', 'ended', 'began'] },
  { by: ['method', 'expiresAt'], having: 'deletedAt', also: ['createdAt', 'namespace', 'deletedAt'] },
  { by: ['name'], having: 'deletedAt', also: ['createdAt', 'namespace', 'deletedAt'] },
  { by: ['deletedAt', 'method'] },
  // Tokens that cannot be found by their SHA-256.
  { by: ['createdAt'], lacking: 'fingerprint' },
]
