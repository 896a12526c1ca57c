{{- /* Where hosts are reached without a proxy: those of the cluster, and what the administrator lists. */}}
{{- define "agentfleet.withoutProxy" -}}
{{- concat (list "localhost" "127.0.0.1" ".svc" ".cluster.local") .Values.proxy.except | uniq | toJson -}}
{{- end }}

{{- /* What holds for all that the operator makes, as operator/src/runtime/settings.ts reads it; what is not set is left out. */}}
{{- define "agentfleet.operands" -}}
{{- $all := dict "imagePullPolicy" .Values.imagePullPolicy "users" .Values.users -}}
{{- with .Values.imagePullSecrets -}}
{{- $names := list -}}
{{- range . }}{{ $names = append $names .name }}{{ end -}}
{{- $_ := set $all "imagePullSecrets" $names -}}
{{- end -}}
{{- if .Values.proxy.url -}}
{{- $_ := set $all "proxy" (dict "url" .Values.proxy.url "except" (include "agentfleet.withoutProxy" . | fromJsonArray)) -}}
{{- end -}}
{{- if .Values.tracing.endpoint -}}
{{- $_ := set $all "tracing" (dict "endpoint" .Values.tracing.endpoint "sampleRatio" .Values.tracing.sampleRatio) -}}
{{- end -}}
{{- if .Values.privateAuthorities -}}
{{- $_ := set $all "privateAuthorities" true -}}
{{- end -}}
{{- range $name, $value := .Values.operands -}}
{{- if eq $name "artifacts" -}}
{{- $set := dict -}}
{{- range $key, $text := $value }}{{ if $text }}{{ $_ := set $set $key $text }}{{ end }}{{ end -}}
{{- $value = $set -}}
{{- end -}}
{{- if $value }}{{ $_ := set $all $name $value }}{{ end -}}
{{- end -}}
{{- toJson $all -}}
{{- end }}

{{- /* As whom a pod runs: the user of our images, or whom the cluster assigns. */}}
{{- define "agentfleet.podSecurity" -}}
runAsNonRoot: true
{{- if eq .Values.users "Fixed" }}
runAsUser: 10001
runAsGroup: 10001
{{- end }}
seccompProfile: { type: RuntimeDefault }
{{- end }}

{{- define "agentfleet.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
{{- end }}

{{- /* What pods that run once have in common. */}}
{{- define "agentfleet.hookPod" -}}
restartPolicy: Never
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  {{- include "agentfleet.podSecurity" . | nindent 2 }}
{{- end }}

{{- /*
  Stops an install where the cluster does not know a kind of the Prometheus operator, as Helm's own words name no value. Offline, as GitOps
  renders it, lookup finds nothing, and the kinds may come with the same commit.
*/}}
{{- define "agentfleet.needsMonitoring" -}}
{{- if not (.all.Capabilities.APIVersions.Has (printf "monitoring.coreos.com/v1/%s" .kind)) }}
{{- if lookup "v1" "Namespace" "" "kube-system" }}
{{- fail (printf "%s is true, and the cluster does not know the kind %s of monitoring.coreos.com/v1; install the Prometheus operator first, or set %s=false" .value .kind .value) }}
{{- end }}
{{- end }}
{{- end }}

{{- /* The wall of a hook's pod, as that of the operator: without it a namespace that denies all would keep the pod from its work. */}}
{{- define "agentfleet.hookWall" -}}
{{- with .context }}
{{- if .Values.networkPolicy.enabled }}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  name: {{ $.name }}
  namespace: {{ .Release.Namespace | quote }}
  annotations:
    {{- toYaml (merge (dict "helm.sh/hook-weight" "-1") $.hook) | nindent 4 }}
spec:
  podSelector:
    matchLabels:
      {{- toYaml $.selector | nindent 6 }}
  policyTypes: [Ingress, Egress]
  egress:
    # Name servers, the API server at the ports that it usually has, and the operator.
    - ports:
        - { protocol: UDP, port: 53 }
        - { protocol: TCP, port: 53 }
        - { protocol: TCP, port: 443 }
        - { protocol: TCP, port: 6443 }
        - { protocol: TCP, port: 8080 }
    {{- with .Values.networkPolicy.egress }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
{{- end }}
{{- end }}
{{- end }}
