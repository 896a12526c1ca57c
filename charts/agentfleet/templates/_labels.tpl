{{- define "agentfleet.selector" -}}
app.kubernetes.io/name: agentfleet
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: operator
{{- end }}

{{- define "agentfleet.labels" -}}
{{ include "agentfleet.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/part-of: agentfleet
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{- /* A reference of images, or a refusal that names it. */}}
{{- define "agentfleet.image" -}}
{{- $images := .context.Values.images -}}
{{- required (printf "images.%s is not set: name the reference of that image, for example --set images.%s=<repository>:<tag>" .part .part) (get $images .part) -}}
{{- end }}
