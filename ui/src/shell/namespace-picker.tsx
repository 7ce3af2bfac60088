import { ChevronDownIcon } from '@primer/octicons-react'
import { useLocation, useNavigate, useParams, useSearch } from '@tanstack/react-router'
import { useEffect, useRef, useState } from 'react'
import { flushSync } from 'react-dom'
import { NamespaceSearch } from '../parts/fields/namespace-search.tsx'
import { useIsMissing } from '../parts/lists/no-namespace.tsx'
import { lastNamespace, rememberNamespace } from '../preferences.ts'
import { shell } from '../words/shell.ts'

/**
 * Picker of the current namespace; empty on a page whose namespace does not exist. Changing it keeps the section and
 * drops the open flag or segment.
 */
export const NamespacePicker = () => {
  const { ns } = useParams({ strict: false }) as { readonly ns?: string }
  const section = useLocation({ select: ({ pathname }) => /^\/ns\/[^/]+\/(\w+)/.exec(pathname)?.[1] ?? 'flags' })
  const navigate = useNavigate()
  const input = useRef<HTMLInputElement>(null)
  const [used, setUsed] = useState(false)
  useEffect(() => {
    if (ns !== undefined) rememberNamespace(ns)
  }, [ns])
  const { at } = useSearch({ strict: false }) as { readonly at?: string }
  const isMissing = useIsMissing(ns, at)
  const value = isMissing ? '' : (ns ?? lastNamespace())
  const placeholder = isMissing ? shell.chooseNamespace : ''
  // The combobox is slow to render and rarely used. A plain input stands in until the pointer or focus arrives.
  if (!used) {
    const use = () => flushSync(() => setUsed(true))
    return (
      <div className="picker" onPointerEnter={use}>
        <input
          ref={input}
          className="input"
          role="combobox"
          aria-label={shell.namespace}
          aria-autocomplete="list"
          aria-expanded={false}
          aria-controls={undefined}
          aria-haspopup="listbox"
          value={value}
          placeholder={placeholder}
          autoComplete="off"
          spellCheck={false}
          onFocus={() => {
            use()
            input.current?.focus()
            input.current?.select()
          }}
          onChange={use}
        />
        <button
          type="button"
          className="button icon plain"
          aria-label={shell.openNamespaces}
          aria-haspopup="listbox"
          aria-expanded={false}
          tabIndex={-1}
          onClick={() => {
            use()
            input.current?.parentElement?.querySelector('button')?.click()
          }}
        >
          <ChevronDownIcon />
        </button>
      </div>
    )
  }
  return (
    <NamespaceSearch
      value={value}
      input={{ ref: input, 'aria-label': shell.namespace, placeholder }}
      onChange={(key) => {
        rememberNamespace(key)
        void navigate({ to: `/ns/$ns/${section}` as '/ns/$ns/flags', params: { ns: key } })
      }}
    />
  )
}
