import { useLocation, useNavigate, useParams } from '@tanstack/react-router'
import { useEffect } from 'react'
import { NamespaceSearch } from '../parts/namespace-search.tsx'
import { lastNamespace, rememberNamespace } from '../preferences.ts'
import { shell } from '../words/shell.ts'

/** Which namespace is looked at. Another one keeps the section, and drops the thing. */
export const NamespacePicker = () => {
  const { ns } = useParams({ strict: false }) as { readonly ns?: string }
  const section = useLocation({ select: ({ pathname }) => /^\/ns\/[^/]+\/(\w+)/.exec(pathname)?.[1] ?? 'flags' })
  const navigate = useNavigate()
  useEffect(() => {
    if (ns !== undefined) rememberNamespace(ns)
  }, [ns])
  return (
    <NamespaceSearch
      value={ns ?? lastNamespace()}
      input={{ 'aria-label': shell.namespace }}
      onChange={(key) => {
        rememberNamespace(key)
        void navigate({ to: `/ns/$ns/${section}` as '/ns/$ns/flags', params: { ns: key } })
      }}
    />
  )
}
