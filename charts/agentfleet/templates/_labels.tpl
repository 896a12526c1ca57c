{{- define "agentfleet.selector" -}}
app.kubernetes.io/name: agentfleet
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/component: operator
{{- end }}

{{- define "agentfleet.labels" -}}
{{ include "agentfleet.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/part-of: agentfleet
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{- /* The namespaces that are watched, that of the release among them, as JSON; none: all. */}}
{{- define "agentfleet.watched" -}}
{{- if .Values.watch.namespaces -}}
{{- append .Values.watch.namespaces .Release.Namespace | uniq | toJson -}}
{{- else -}}
[]
{{- end -}}
{{- end }}

{{- /* Their names in the environment of a program of ours. */}}
{{- define "agentfleet.watchedEnv" -}}
{{- with .Values.watch.namespaces -}}
- name: AGENTFLEET_WATCH_NAMESPACES
  value: {{ join "," . | quote }}
{{- end -}}
{{- end }}

{{- /* A Role of this name in a namespace, bound to the account of the same name or `account`; annotations are JSON. */}}
{{- define "agentfleet.roleIn" }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: {{ .name }}
  namespace: {{ .namespace | quote }}
  {{- include "agentfleet.roleMeta" . | nindent 2 }}
rules:
  {{- toYaml .rules | nindent 2 }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: {{ .name }}
  namespace: {{ .namespace | quote }}
  {{- include "agentfleet.roleMeta" . | nindent 2 }}
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: Role, name: {{ .name }} }
subjects:
  - { kind: ServiceAccount, name: {{ .account | default .name }}, namespace: {{ .context.Release.Namespace | quote }} }
{{- end }}
{{- define "agentfleet.roleMeta" -}}
{{- with .annotations -}}
annotations:
  {{- toYaml . | nindent 2 }}
{{- else -}}
labels:
  {{- include .labels .context | nindent 2 }}
{{- end -}}
{{- end }}

{{- /* A reference of images, or a refusal that names it. */}}
{{- define "agentfleet.image" -}}
{{- $images := .context.Values.images -}}
{{- required (printf "images.%s is not set: name the reference of that image, for example --set images.%s=<repository>:<tag>" .part .part) (get $images .part) -}}
{{- end }}
